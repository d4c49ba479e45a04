"""Add-ons that need a node to run on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.manifest import Manifest, ManifestArgs


@dataclass(frozen=True, kw_only=True)
class ClusterAddOnsArgs:
    cluster_name: pulumi.Input[str]
    kubernetes: k8s.Provider
    versions: Mapping[str, str]
    """Add-on -> version, where somebody pinned it."""
    after: Sequence[pulumi.Resource]
    """Nodes: EKS calls an add-on healthy, and ends its creation, only when its pods run."""
    tags: Mapping[str, str]


class ClusterAddOns(pulumi.ComponentResource):
    """DNS, and the device plugin that makes GPUs countable on GPU nodes."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: ClusterAddOnsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:ClusterAddOns", name, {}, opts)
        dns = aws.eks.Addon(
            f"{name}-coredns",
            addon_name="coredns",
            addon_version=args.versions.get("coredns"),
            cluster_name=args.cluster_name,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        Manifest(
            f"{name}-device-plugin",
            ManifestArgs(file="device-plugin.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.kubernetes]),
        )
        self.ready = (dns,)
        self.register_outputs({})
