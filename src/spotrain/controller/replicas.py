"""How many workers there are, which indexes they get, and who leaves first.

A pod on its way out keeps its index and its share until it is gone: one more worker than wanted
would wait at the rendezvous and fail, and two pods of one index would have one name.
"""

import math
from dataclasses import dataclass

from spotrain.controller.model import DeletePod, NodeView, Observed, PodView
from spotrain.job import ElasticJob


@dataclass(frozen=True)
class Sizing:
    create: tuple[int, ...]
    """Indexes of new workers, ascending."""
    removals: tuple[DeletePod, ...]


def size(
    job: ElasticJob, observed: Observed, *, leaving: frozenset[str], limit: float = math.inf
) -> Sizing:
    """The way from the pods that stay to the wanted number.

    leaving: uids of pods that are removed otherwise. limit: most workers that may be there now.
    """
    wanted = int(min(job.replicas, limit))
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
