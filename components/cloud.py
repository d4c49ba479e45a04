"""What every cloud hands to the platform. The platform asks for nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool as built: what a job can have, where, with how much notice, at what list price."""

    name: str
    gpu: str
    gpus_per_node: int
    capacity: str
    zones: tuple[str, ...]
    instance_types: tuple[str, ...]
    max_nodes: int
    """Most nodes in one zone."""
    notice_seconds: int
    """From the order to leave to the end of the node."""
    spot_usd_per_hour: float
    """A typical price of the first instance type; spot prices move."""
    on_demand_usd_per_hour: float
    """List price of the first instance type."""

    def document(self) -> dict[str, object]:
        """The pool as the controller and the command line read it (`contract.POOLS_KEY`)."""
        return {
            "name": self.name,
            "gpu": self.gpu,
            "gpusPerNode": self.gpus_per_node,
            "capacity": self.capacity,
            "zones": list(self.zones),
            "instanceTypes": list(self.instance_types),
            "maxNodes": self.max_nodes,
            "noticeSeconds": self.notice_seconds,
            "spotUsdPerHour": self.spot_usd_per_hour,
            "onDemandUsdPerHour": self.on_demand_usd_per_hour,
        }


@dataclass(frozen=True, kw_only=True)
class Volume:
    """A file system that every node can mount at once, as a CSI volume."""

    driver: str
    handle: pulumi.Input[str]
    attributes: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    mount_options: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class ImageReferences:
    """Container images, by digest."""

    training: pulumi.Input[str]
    controller: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """A cluster that can run the platform."""

    kubernetes: k8s.Provider
    pools: tuple[Pool, ...]
    volume: Volume
    storage_class: str
    """For volumes that somebody asks for beside the shared one."""
    images: ImageReferences
    ready: tuple[pulumi.Resource, ...]
    """Pods can be scheduled, and mount the volume, once these exist. Whatever runs pods depends on
    them, so that a destroy removes the pods while there is still a node to stop them on."""
    outputs: Mapping[str, pulumi.Input[str]]
    """What a person needs to know about this cloud: how to log in, how to mount the volume."""
