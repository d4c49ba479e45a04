"""What pods get of a node: EKS keeps a part of it for the system. Pure.

The formulas are nodeadm's, which sets up every node of Amazon Linux 2023. The autoscaler knows none
of them: for a group without a node it takes the instance's whole size, orders a node for a pod that
almost fills it, and the pod never fits. So it is told these numbers instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass

HYPERVISOR_SHARE = 0.075
"""Memory that an instance has on paper and its system never sees; a cautious estimate, the one that
Karpenter makes too."""
EVICTION_MIB = 100
"""Below this, kubelet evicts."""
DISK_SHARE = 0.89
"""Kubelet evicts when less than 10 % of a disk is free; 1 % is the file system's own."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """An instance as AWS sells it."""

    vcpu: int
    memory_gib: int
    max_pods: int
    """What its network interfaces have addresses for."""


@dataclass(frozen=True, kw_only=True)
class Allocatable:
    """A node as the scheduler sees it."""

    cpu_millis: int
    memory_mib: int
    pods: int


def allocatable(size: Size) -> Allocatable:
    """What is left for pods."""
    visible_mib = size.memory_gib * 1024 * (1 - HYPERVISOR_SHARE)
    return Allocatable(
        cpu_millis=size.vcpu * 1000 - _reserved_cpu_millis(size.vcpu),
        memory_mib=int(visible_mib - _reserved_memory_mib(size.max_pods) - EVICTION_MIB),
        pods=size.max_pods,
    )


def smallest(sizes: Iterable[Size]) -> Allocatable:
    """What every one of several instances has."""
    nodes = [allocatable(size) for size in sizes]
    return Allocatable(
        cpu_millis=min(node.cpu_millis for node in nodes),
        memory_mib=min(node.memory_mib for node in nodes),
        pods=min(node.pods for node in nodes),
    )


def usable_storage_gib(disk_gib: float) -> int:
    """What pods may write to the disk that holds images, logs and temporary files."""
    return int(disk_gib * DISK_SHARE) - 1  # EKS reserves 1 GiB


def gib(gigabytes: float) -> float:
    """10^9 bytes, as disks are sold, in GiB."""
    return gigabytes * 10**9 / 2**30


def _reserved_cpu_millis(vcpu: int) -> int:
    """6 % of the first CPU, 1 % of the second, 0.5 % of the next two, 0.25 % of the others."""
    tenths = 600 + 100 * min(vcpu - 1, 1) + 50 * min(max(vcpu - 2, 0), 2) + 25 * max(vcpu - 4, 0)
    return tenths // 10


def _reserved_memory_mib(max_pods: int) -> int:
    return 255 + 11 * max_pods
