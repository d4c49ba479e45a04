"""Add-ons that need a node to run on.

Their pods tolerate no GPU taint, so they stay on the managers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.aws.addons.addon import AddOn, AddOnArgs
from components.aws.reference import ClusterReference
from components.manifest import Manifest, ManifestArgs

DNS_SETTINGS = {
    "replicaCount": 2,
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
        }
    ],
    "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
}
"""Keys: the schema that `aws eks describe-addon-configuration` shows for coredns since v1.11.1, and
v1.9.3-eksbuild.5 for the spread; the budget is also its default, said here because drains rest on
it."""
METRICS_SETTINGS = {"replicas": 2}
"""The add-on brings a disruption budget of its own."""


@dataclass(frozen=True, kw_only=True)
class ClusterAddOnsArgs:
    cluster: ClusterReference
    versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
    after: Sequence[pulumi.Resource]
    """Nodes: EKS calls an add-on healthy, and ends its creation, only when its pods run."""
    tags: Mapping[str, str]


class ClusterAddOns(pulumi.ComponentResource):
    """DNS, the numbers behind `kubectl top`, and the device plugin, which makes GPUs countable."""

    ready: tuple[pulumi.Resource, ...]
    """What a pod needs: names resolve."""

    def __init__(
        self, name: str, args: ClusterAddOnsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:ClusterAddOns", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)

        def arguments(addon: str, configuration: Mapping[str, Any]) -> AddOnArgs:
            return AddOnArgs(
                addon=addon,
                version=args.versions.get(addon),
                cluster=args.cluster,
                configuration=configuration,
                after=args.after,
                tags=args.tags,
            )

        dns = AddOn(f"{name}-dns", arguments("coredns", DNS_SETTINGS), child).addon
        AddOn(f"{name}-metrics", arguments("metrics-server", METRICS_SETTINGS), child)
        Manifest(
            f"{name}-device-plugin",
            ManifestArgs(file="device-plugin.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.cluster.kubernetes]),
        )
        self.ready = (dns,)
        self.register_outputs({})
