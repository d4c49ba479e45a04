"""A cluster, as everything that is put on it needs to know it."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True, kw_only=True)
class ClusterReference:
    """Where a component goes."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    region: str
    version: str
    """Kubernetes version, such as 1.36."""
    kubernetes: k8s.Provider
