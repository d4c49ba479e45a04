"""Add-ons that need a node to run on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.aws.addon import AddOn, AddOnArgs
from components.aws.reference import ClusterReference
from components.manifest import Manifest, ManifestArgs


@dataclass(frozen=True, kw_only=True)
class ClusterAddOnsArgs:
    cluster: ClusterReference
    versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
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
        child = pulumi.ResourceOptions(parent=self)
        dns = AddOn(
            f"{name}-dns",
            AddOnArgs(
                addon="coredns",
                version=args.versions.get("coredns"),
                cluster=args.cluster,
                after=args.after,
                tags=args.tags,
            ),
            child,
        ).addon
        Manifest(
            f"{name}-device-plugin",
            ManifestArgs(file="device-plugin.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[args.cluster.kubernetes]),
        )
        self.ready = (dns,)
        self.register_outputs({})
