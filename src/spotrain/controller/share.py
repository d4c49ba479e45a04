"""How many workers a job may have where several jobs want the same GPUs.

Three rules, for the GPUs of a place and for those that one researcher may hold alike:
1. A job that waits for minReplicas is served before one that runs grows: the latter's pods without
   a node are withdrawn, so that no node that comes free goes to them. Running workers stay.
2. Of two that wait, one goes first (`Claim.goes_before`). The other holds nothing meanwhile: two
   jobs that each hold half of what they need would both wait for ever, and be paid for.
3. What others hold is theirs until they let go, so that no GPU is promised twice.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spotrain.controller.board import Claim


@dataclass(frozen=True)
class Share:
    limit: float
    """Most workers that the job may have now."""
    ahead: int = 0
    """How many jobs stand in its way."""
    is_in_line: bool = False
    """Must it wait until others leave? Else a limit below minReplicas passes by itself, as soon as
    those whose turn it is not have let go."""


UNLIMITED = Share(math.inf)


def share(
    mine: Claim,
    others: Sequence[Claim],
    gpus: float,
    *,
    gpus_per_node: int = 0,
    preempts: bool = False,
) -> Share:
    """The job's share of so many GPUs. `others`: the jobs that want the same ones.

    gpus_per_node: a worker's GPUs are all in one node; 0: they come from anywhere.
    preempts: where the scheduler drives out lesser jobs, what these hold is in nobody's way.
    """
    each = mine.gpus_per_worker
    if not each or math.isinf(gpus):
        return _without_growth(mine, others) if _is_starving(mine, others) else UNLIMITED
    rivals = [o for o in others if not (preempts and o.priority < mine.priority)]
    due, taken = Counter[int](), Counter[int]()
    for other in rivals:
        due[other.gpus_per_worker] += _due(mine, other)
        taken[other.gpus_per_worker] += max(other.held, _due(mine, other))
    entitled = workers_beside(due, each, int(gpus), gpus_per_node)
    available = workers_beside(taken, each, int(gpus), gpus_per_node)
    if mine.is_waiting and entitled < mine.least:
        ahead = sum(_due(mine, other) > 0 for other in rivals)
        return Share(0, ahead, is_in_line=True)
    if _is_starving(mine, rivals):
        return _without_growth(mine, rivals)
    return Share(max(mine.housed, min(entitled, max(mine.held, available))))


def room_for_least(
    mine: Claim, others: Iterable[Claim], gpus: float, *, gpus_per_node: int = 0, preempts: bool
) -> bool:
    """Could the job start with so many GPUs, were it to come to them now?"""
    arriving = replace(mine, housed=0, held=0)
    found = share(arriving, list(others), gpus, gpus_per_node=gpus_per_node, preempts=preempts)
    return not found.is_in_line


def workers_beside(taken: Mapping[int, int], each: int, gpus: int, gpus_per_node: int) -> int:
    """How many workers of `each` GPUs find room beside those that are there: GPUs of a worker ->
    how many such workers.

    Nodes are filled with the largest workers first, as full as they get: the room there is at best.
    A scheduler that spreads workers over half-empty nodes may leave less.
    """
    if not gpus_per_node:
        return max(gpus - sum(size * workers for size, workers in taken.items()), 0) // each
    free = [gpus_per_node] * (gpus // gpus_per_node)
    for size, workers in sorted(taken.items(), reverse=True):
        for node, left in enumerate(free):
            placed = min(workers, left // size) if size else 0
            free[node] -= placed * size
            workers -= placed
    return sum(left // each for left in free)


def _due(mine: Claim, other: Claim) -> int:
    """Workers of the other job that count before any of mine."""
    if other.is_waiting:
        goes_first = not mine.is_waiting or other.goes_before(mine)
        return max(other.least, other.housed) if goes_first else 0
    if mine.is_waiting:
        return other.housed
    # Of two that grow, the older goes first too: else each would make room for the other.
    return other.held if other.goes_before(mine) else other.housed


def _is_starving(mine: Claim, others: Iterable[Claim]) -> bool:
    """Do I grow where another waits for nodes that the autoscaler says it cannot get?"""
    return not mine.is_waiting and any(o.is_waiting and o.starved for o in others)


def _without_growth(mine: Claim, others: Iterable[Claim]) -> Share:
    return Share(mine.housed, ahead=sum(other.is_waiting for other in others))
