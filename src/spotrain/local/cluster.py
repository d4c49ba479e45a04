"""Nodes and pods of a made-up cluster, its scheduler and its autoscaler: values and decisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from spotrain import contract
from spotrain.controller.model import NodeView, PodView
from spotrain.job import Pool, gpus_of
from spotrain.ledger.entries import NodeEntry, Place


@dataclass
class Node:
    """A machine on paper. It costs money from its start to its end."""

    name: str
    pool: Pool
    zone: str
    started_at: float
    """Seconds of the engine's clock."""
    cordoned: bool = False
    idle_since: float | None = None
    """By the engine's clock; None: a pod is on it."""
    ended_at: float | None = None
    uid: str = ""
    created_at: datetime | None = None
    """The same moment as `started_at`, by the wall's clock."""
    gone_at: datetime | None = None
    """The same moment as `ended_at`."""

    @property
    def labels(self) -> dict[str, str]:
        return {
            contract.LABEL_POOL: self.pool.name,
            contract.LABEL_GPU: self.pool.gpu,
            contract.LABEL_CAPACITY: self.pool.capacity,
            contract.LABEL_ZONE: self.zone,
            contract.LABEL_ROLE: contract.ROLE_WORKER,
        }

    def view(self) -> NodeView:
        return NodeView(
            name=self.name,
            pool=self.pool.name,
            zone=self.zone,
            ready=self.ended_at is None,
            cordoned=self.cordoned,
            created_at=self.created_at,
            gpus=self.pool.gpus_per_node,
            capacity=self.pool.capacity,
            instance_type=self.instance_type,
        )

    @property
    def instance_type(self) -> str:
        return next(iter(self.pool.instance_types), "")

    def entry(self) -> NodeEntry:
        """Its life, for the ledger."""
        assert self.created_at
        return NodeEntry(
            name=self.name,
            uid=self.uid,
            place=Place(
                pool=self.pool.name,
                zone=self.zone,
                capacity=self.pool.capacity,
                instance_type=self.instance_type,
            ),
            gpus=self.pool.gpus_per_node,
            created_at=self.created_at,
            gone_at=self.gone_at,
        )


@dataclass
class Pod:
    name: str
    uid: str
    index: int
    manifest: Mapping[str, Any]
    created_at: datetime
    node: Node | None = None
    phase: Literal["Pending", "Running", "Succeeded", "Failed"] = "Pending"
    exit_code: int | None = None
    reason: str = ""
    disrupted: bool = False
    delete_by: datetime | None = None
    """It has been told to leave, and is killed then."""
    message: str = ""
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def gpus(self) -> int:
        return sum(gpus_of(container) for container in self.manifest["spec"]["containers"])

    @property
    def deleting(self) -> bool:
        return self.delete_by is not None

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    def view(self) -> PodView:
        waits = self.phase == "Pending" and self.node is None
        return PodView(
            name=self.name,
            uid=self.uid,
            index=self.index,
            phase=self.phase,
            node=self.node.name if self.node else None,
            ready=self.phase == "Running" and not self.deleting,
            deleting=self.deleting,
            exit_code=self.exit_code,
            reason=self.reason,
            disrupted=self.disrupted,
            message=self.message,
            created_at=self.created_at,
            place=self.manifest["metadata"]
            .get("annotations", {})
            .get(contract.OFFER_ANNOTATION, ""),
            unschedulable="no node of its pool has room for it" if waits else "",
            scheduled_at=self.scheduled_at,
            started_at=self.started_at,
            ended_at=self.ended_at,
            gpus=self.gpus,
        )


def find_node(pod: Pod, nodes: Iterable[Node], pods: Sequence[Pod]) -> Node | None:
    """The scheduler: the first living node that the pod selects and that has GPUs for it."""
    selector: Mapping[str, str] = pod.manifest["spec"].get("nodeSelector") or {}
    for node in nodes:
        if node.ended_at is not None or node.cordoned:
            continue
        taken = sum(p.gpus for p in pods if p.node is node and not p.is_over)
        fits = taken + pod.gpus <= node.pool.gpus_per_node
        if fits and selector.items() <= node.labels.items():
            return node
    return None


@dataclass(frozen=True)
class Group:
    """One autoscaling group: a pool in a zone, and how many machines can be had there now."""

    pool: Pool
    zone: str
    capacity: int


def find_group(
    pod: Pod, groups: Iterable[Group], nodes: Sequence[Node], booting: Sequence[Group]
) -> Group | None:
    """The autoscaler: the first group that would admit the pod and can still grow."""
    for group in groups:
        own = [n for n in nodes if n.pool.name == group.pool.name and n.zone == group.zone]
        coming = sum((g.pool.name, g.zone) == (group.pool.name, group.zone) for g in booting)
        count = sum(node.ended_at is None for node in own) + coming
        can_grow = count < min(group.capacity, group.pool.max_nodes)
        if can_grow and pod.gpus <= group.pool.gpus_per_node and _selects(pod, group):
            return group
    return None


def refusal(pod: Pod, groups: Iterable[Group]) -> str:
    """Why no group brings a node for the pod, in the words of cluster-autoscaler."""
    selected = [group for group in groups if _selects(pod, group)]
    if not selected:
        told = "node(s) didn't match Pod's node affinity/selector"
    elif all(pod.gpus > group.pool.gpus_per_node for group in selected):
        told = f"Insufficient {contract.GPU_RESOURCE}"
    else:
        told = "max node group size reached"
    return f"pod didn't trigger scale-up: {max(len(selected), 1)} {told}"


def _selects(pod: Pod, group: Group) -> bool:
    selector: Mapping[str, str] = pod.manifest["spec"].get("nodeSelector") or {}
    example = Node(name="", pool=group.pool, zone=group.zone, started_at=0.0)
    return selector.items() <= example.labels.items()
