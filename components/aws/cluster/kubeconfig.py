"""How to talk to a cluster."""

import json

import pulumi
import pulumi_eks as eks


def kubeconfig(*, region: str, cluster: str, endpoint: str, authority: str) -> str:
    """A kubeconfig that holds no credential: it asks the AWS command line for a token."""
    user = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["--region", region, "eks", "get-token", "--cluster-name", cluster],
        "interactiveMode": "Never",
    }
    server = {"server": endpoint, "certificate-authority-data": authority}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": cluster, "user": {"exec": user}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
        }
    )


def kubeconfig_of(made: eks.Cluster, region: str) -> pulumi.Output[str]:
    """The kubeconfig of a new cluster, as a secret, once its public address answers.

    EKS calls a cluster active before that address resolves everywhere; pulumi_eks waits for it
    before it knows its own kubeconfig.
    """
    plane = made.eks_cluster
    text = pulumi.Output.all(
        endpoint=plane.endpoint,
        authority=plane.certificate_authority.data,
        cluster=plane.name,
    ).apply(lambda parts: kubeconfig(region=region, **parts))
    answering = pulumi.Output.all(text, made.kubeconfig_json).apply(lambda both: str(both[0]))
    return pulumi.Output.secret(answering)
