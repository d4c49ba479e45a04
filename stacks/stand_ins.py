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
    "random:index/randomPassword:RandomPassword": lambda name, region: {"result": "not-real"},
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
}
"""Look-ups that the program makes. One that is not here raises, so nothing asks a cloud unseen."""
