"""What providers would answer: plausible outputs for a program that runs without any cloud."""

from collections.abc import Callable, Mapping
from typing import Any

ACCOUNT = "123456789012"
DIGEST = "sha256:" + "0123456789abcdef" * 4
Outputs = dict[str, Any]


def outputs_of(kind: str, name: str, inputs: Mapping[str, Any], region: str) -> Outputs:
    """Inputs, and what the provider would add to them."""
    state = dict(inputs)
    if kind.startswith("aws:"):
        service = kind.split(":")[1].split("/")[0]
        state.setdefault("arn", f"arn:aws:{service}:{region}:{ACCOUNT}:{name}")
        state.setdefault("name", name)
    if kind.startswith("gcp:"):
        state.setdefault("name", name)
    if kind.startswith("kubernetes:"):
        state["metadata"] = {"name": name, **(state.get("metadata") or {})}
    extra = EXTRA.get(kind)
    return {**state, **(extra(name, region) if extra else {})}


def id_of(kind: str, name: str, state: Mapping[str, Any]) -> str:
    """The provider's id; of a Kubernetes object it is its name, with the namespace before it."""
    if not kind.startswith("kubernetes:"):
        return f"{name}-id"
    metadata = state["metadata"]
    return "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)


def _file_system(name: str, region: str) -> Outputs:
    return {"arn": f"arn:aws:elasticfilesystem:{region}:{ACCOUNT}:file-system/{name}-id"}


def _node_group(name: str, region: str) -> Outputs:
    return {"resources": [{"autoscalingGroups": [{"name": f"eks-{name}-0000"}]}]}


def _repository(name: str, region: str) -> Outputs:
    host = f"{ACCOUNT}.dkr.ecr.{region}.amazonaws.com"
    return {"repositoryUrl": f"{host}/{name}", "registryId": ACCOUNT}


def _service_account(name: str, region: str) -> Outputs:
    email = f"{name}@example-research.iam.gserviceaccount.com"
    return {"email": email, "member": f"serviceAccount:{email}"}


EXTRA: Mapping[str, Callable[[str, str], Outputs]] = {
    "aws:efs/fileSystem:FileSystem": _file_system,
    "aws:efs/mountTarget:MountTarget": lambda name, region: {"ipAddress": f"ip-of-{name}"},
    "aws:s3/bucket:Bucket": lambda name, region: {"bucket": name, "arn": f"arn:aws:s3:::{name}"},
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:ecr/repository:Repository": _repository,
    "aws:cloudwatch/logGroup:LogGroup": lambda name, region: {
        "arn": f"arn:aws:logs:{region}:{ACCOUNT}:log-group:{name}"
    },
    "aws:ec2/vpc:Vpc": lambda name, region: {"ownerId": ACCOUNT},
    "aws:ec2/launchTemplate:LaunchTemplate": lambda name, region: {"latestVersion": 1},
    "gcp:container/cluster:Cluster": lambda name, region: {
        "endpoint": "192.0.2.1",
        "masterAuth": {"clusterCaCertificate": "Y2VydGlmaWNhdGU="},
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"endpoint": f"gke-0000.{region}.gke.example"}
        },
    },
    "gcp:serviceaccount/account:Account": _service_account,
    "gcp:projects/serviceIdentity:ServiceIdentity": _service_account,
    "kubernetes:core/v1:PersistentVolumeClaim": lambda name, region: {
        "spec": {"volumeName": f"volume-of-{name}"}
    },
    "random:index/randomPassword:RandomPassword": lambda name, region: {"result": "not-real"},
    "random:index/randomString:RandomString": lambda name, region: {"result": "0a1b2c"},
    "docker-build:index:Image": lambda name, region: {"digest": DIGEST},
}


def eks_cluster(physical: str, region: str) -> Outputs:
    """The aws.eks.Cluster that pulumi_eks makes inside its provider."""
    return {
        "name": physical,
        "arn": f"arn:aws:eks:{region}:{ACCOUNT}:cluster/{physical}",
        "roleArn": f"arn:aws:iam::{ACCOUNT}:role/{physical}-role",
        "endpoint": "https://cluster.example",
        "certificateAuthority": {"data": "Y2VydGlmaWNhdGU="},
        "vpcConfig": {"clusterSecurityGroupId": "sg-cluster"},
    }


ANSWERS: Mapping[str, Outputs] = {
    "aws:ecr/getAuthorizationToken:getAuthorizationToken": {
        "proxyEndpoint": f"https://{ACCOUNT}.dkr.ecr.example",
        "userName": "AWS",
        "password": "not-a-real-password",
    },
    "gcp:organizations/getClientConfig:getClientConfig": {"accessToken": "not-a-real-token"},
    "gcp:organizations/getProject:getProject": {"number": ACCOUNT},
}
"""Look-ups that the program makes. One that is not here raises, so nothing asks a cloud unseen."""

FOUND: Mapping[str, Outputs] = {
    # What Filestore's driver makes for a claim.
    "kubernetes:core/v1:PersistentVolume": {
        "spec": {"csi": {"volumeAttributes": {"ip": "192.0.2.2", "volume": "vol1"}}}
    },
}
"""What the program finds: things that others have made, by their type."""
