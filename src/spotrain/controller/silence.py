"""Pods of nodes that nobody hears of any more: removed by force, so that others take their place.

Kubernetes itself waits five minutes before it gives such a pod up, and then until a kubelet that
may never return confirms its end. The old process may still run behind a broken network. That is
safe: it belongs to an older world, whose commits the coordinator refuses.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.model import DeletePod, NodeView, Observed, PodView, earliest

FORCE_AFTER_SECONDS: Final = 30
"""Past its grace period, a pod on a lost node has nobody left who could report its end."""


@dataclass(frozen=True)
class Silence:
    lost: tuple[PodView, ...]
    """Pods taken away by their node's silence."""
    removals: tuple[DeletePod, ...]
    later: tuple[datetime, ...]
    """When to look at others again."""


def find_silence(observed: Observed, now: datetime) -> Silence:
    """What is due now of `observed.node_lost_seconds`, and what may be later."""
    nodes = {node.name: node for node in observed.nodes}
    lost, removals, later = [], [], []
    for pod in observed.pods:
        force_at = _force_at(pod, nodes, observed.node_lost_seconds)
        if force_at is None:
            continue
        if force_at > now:
            later.append(force_at)
            continue
        removals.append(DeletePod(pod.name, pod.uid, 0, "NodeLost"))
        if not pod.deleting:
            lost.append(pod)
    return Silence(tuple(lost), tuple(removals), tuple(later))


def _force_at(
    pod: PodView, nodes: dict[str, NodeView], node_lost_seconds: float
) -> datetime | None:
    """When to give the pod up; None while somebody answers for it."""
    # Without leave to list nodes none is seen at all; that tells nothing about this one.
    if pod.node is None or not nodes:
        return None
    node = nodes.get(pod.node)
    gives_up = stuck = None
    if node and node.silent_since and pod.phase in ("Pending", "Running"):
        gives_up = node.silent_since + timedelta(seconds=node_lost_seconds)
    if pod.delete_by and (node is None or not node.ready):
        stuck = pod.delete_by + timedelta(seconds=FORCE_AFTER_SECONDS)
    return earliest(gives_up, stuck)
