"""Workers that were taken away rather than failed: replaced at once, counted apart.

Nodes are reclaimed, drained and preempted all day here. None of that says anything against the
training, so none of it may use up the job's patience with failures.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.model import DeletePod, NodeView, Observed, PodView
from spotrain.job import ElasticJob

NODE_REASONS: Final = frozenset(
    {"Evicted", "NodeLost", "Shutdown", "Preempting", "Terminated", "UnexpectedAdmissionError"}
)
"""A pod's reason when its node, the scheduler or the kubelet ended it."""
PEER_ERRORS: Final = ("SignalException", "RendezvousConnectionError", "RendezvousTimeoutError")
"""What stock torchrun leaves behind when a peer or the rendezvous went away."""
OUT_OF_MEMORY: Final = "OOMKilled"
REPLACE_AFTER_SECONDS: Final = 5
"""A pod younger than this is replaced only then: a node that kills each pod at its start must not
turn the controller into a loop without a pause."""
FORCE_AFTER_SECONDS: Final = 30
"""Past its grace period, a pod on a lost node has nobody left who could report its end."""


@dataclass(frozen=True)
class Disruptions:
    fresh: tuple[PodView, ...]
    """Seen for the first time."""
    removals: tuple[DeletePod, ...]
    look_again: datetime | None


def is_disrupted(job: ElasticJob, pod: PodView) -> bool:
    """Did something other than the training itself end this failed pod?"""
    if pod.disrupted or pod.reason in NODE_REASONS:
        return True
    if pod.reason == OUT_OF_MEMORY or job.restart_policy == "Never":
        return False  # 137 too, but the next try needs as much memory; and Never excuses no code
    if pod.exit_code in contract.RETRYABLE_EXIT_CODES:
        return True
    return bool(job.rdzv_endpoint) and any(error in pod.message for error in PEER_ERRORS)


def find_disruptions(job: ElasticJob, observed: Observed, now: datetime) -> Disruptions:
    """Pods taken away, which of them are news, and which can be cleared for a replacement."""
    gone = [p for p in observed.pods if p.phase == "Failed" and is_disrupted(job, p)]
    doomed = [p for p in observed.pods if p.disrupted and p not in gone]
    counted = observed.status.counted_pods
    removals, later = _stuck(observed, now)
    for pod in gone:
        ripe_at = pod.created_at + timedelta(seconds=REPLACE_AFTER_SECONDS)
        if pod.deleting:
            continue
        if ripe_at <= now:
            removals.append(DeletePod(pod.name, pod.uid, None, "Disrupted"))
        else:
            later.append(ripe_at)
    return Disruptions(
        fresh=tuple(p for p in (*gone, *doomed) if p.uid not in counted),
        removals=tuple(removals),
        look_again=min(later, default=None),
    )


def _stuck(observed: Observed, now: datetime) -> tuple[list[DeletePod], list[datetime]]:
    """Pods that no kubelet will ever finish deleting.

    The old process may still run behind a broken network. That is safe: it belongs to an older
    world, whose commits the coordinator refuses.
    """
    nodes = {node.name: node for node in observed.nodes}
    removals, later = [], []
    for pod in observed.pods:
        if not pod.deleting or pod.delete_by is None or not _is_lost(pod, nodes):
            continue
        force_at = pod.delete_by + timedelta(seconds=FORCE_AFTER_SECONDS)
        if force_at <= now:
            removals.append(DeletePod(pod.name, pod.uid, 0, "NodeLost"))
        else:
            later.append(force_at)
    return removals, later


def _is_lost(pod: PodView, nodes: dict[str, NodeView]) -> bool:
    # Without leave to list nodes none is seen at all; that tells nothing about this one.
    if pod.node is None or not nodes:
        return False
    node = nodes.get(pod.node)
    return node is None or not node.ready
