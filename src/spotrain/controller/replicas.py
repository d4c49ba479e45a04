"""How many workers there are, which indexes they get, and who leaves first.

A pod on its way out keeps its index and its share until it is gone: one more worker than wanted
would wait at the rendezvous and fail, and two pods of one index would have one name.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from spotrain.controller.model import DeletePod, NodeView, Observed, PodView
from spotrain.job import ElasticJob


@dataclass(frozen=True)
class Sizing:
    create: tuple[int, ...]
    """Indexes of new workers, ascending."""
    removals: tuple[DeletePod, ...]


def least(job: ElasticJob, pods: Iterable[PodView]) -> int:
    """Workers that must be ready for the job to train: minReplicas, less those that are done.

    Those stay as pods where every worker must succeed; else the first to succeed ends the job.
    """
    return max(job.min_replicas - len(done(pods)), 0)


def done(pods: Iterable[PodView]) -> list[PodView]:
    """Those that have succeeded. One that was told to leave proves nothing by leaving politely."""
    return [pod for pod in pods if pod.phase == "Succeeded" and not pod.deleting]


def size(
    job: ElasticJob, observed: Observed, *, leaving: frozenset[str], limit: float = math.inf
) -> Sizing:
    """The way from the pods that stay to the wanted number.

    leaving: uids of pods that are removed otherwise. limit: most workers that may be there now,
    beside those that are done: these hold no node.
    """
    wanted = int(min(job.replicas, limit + len(done(observed.pods))))
    staying = [p for p in observed.pods if not p.deleting and p.uid not in leaving]
    surplus = len(staying) - wanted
    if surplus > 0:
        nodes = {node.name: node for node in observed.nodes}
        first = sorted(staying, key=lambda pod: _order(pod, nodes))[:surplus]
        return Sizing((), tuple(DeletePod(p.name, p.uid, None, "ScaledDown") for p in first))
    room = wanted - len(observed.pods)
    taken = {pod.index for pod in observed.pods}
    free = [index for index in range(job.replicas) if index not in taken]
    return Sizing(tuple(free[: max(room, 0)]), ())


def _order(pod: PodView, nodes: dict[str, NodeView]) -> tuple[bool, bool, bool, bool, int, int]:
    """Who does least good leaves first; False sorts before True. Rank 0 mostly has index 0."""
    node = nodes.get(pod.node or "")
    doomed = pod.disrupted or (node is not None and (node.cordoned or not node.ready))
    return (
        pod.phase != "Failed",
        pod.node is not None,
        pod.ready,
        not doomed,
        pod.deletion_cost,
        -pod.index,
    )
