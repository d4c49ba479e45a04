"""Nodes and pods of a made-up cluster, its scheduler and its autoscaler: values and decisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from spotrain import contract
from spotrain.controller.model import NodeView, PodView
from spotrain.job import Pool, gpus_of


@dataclass
class Node:
    """A machine on paper. It costs money from its start to its end."""

    name: str
    pool: Pool
    zone: str
    started_at: float
    """Seconds of the engine's clock."""
    cordoned: bool = False
    ended_at: float | None = None
    created_at: datetime | None = None
    """The same moment as `started_at`, by the wall's clock."""

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
            instance_type=next(iter(self.pool.instance_types), ""),
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
    deleting: bool = False
    message: str = ""
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def gpus(self) -> int:
        return sum(gpus_of(container) for container in self.manifest["spec"]["containers"])

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
            unschedulable="no node of its pool has a free GPU" if waits else "",
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
    selector: Mapping[str, str] = pod.manifest["spec"].get("nodeSelector") or {}
    for group in groups:
        example = Node(name="", pool=group.pool, zone=group.zone, started_at=0.0)
        own = [n for n in nodes if n.pool.name == group.pool.name and n.zone == group.zone]
        coming = sum((g.pool.name, g.zone) == (group.pool.name, group.zone) for g in booting)
        count = sum(node.ended_at is None for node in own) + coming
        can_grow = count < min(group.capacity, group.pool.max_nodes)
        admits = pod.gpus <= group.pool.gpus_per_node
        if can_grow and admits and selector.items() <= example.labels.items():
            return group
    return None
