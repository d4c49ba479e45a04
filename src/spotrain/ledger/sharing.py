"""How the pods on a node share it: the one rule, by which the account in a job's status counts what
it held, and by which the whole record is charged to all jobs.

    GPUs were asked for:  a pod has its GPUs' share of the node, one that asks for none has nothing
    no GPU was asked for: all pods that are there have the same, and together the whole node

The second is the rule of nodes whose GPUs nobody counts. It asks who else is there, so whoever sees
one job only counts pods of other jobs as absent.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from spotrain.ledger.entries import StayEntry


def shares(stays: Sequence[StayEntry], node_gpus: int = 0) -> list[Fraction]:
    """Of the node, for each of the stays that are on it at a moment; their sum is 1 at most.

    Args:
        node_gpus: that the node has, where it is known better than by the stays.
    """
    asked = sum(stay.gpus for stay in stays)
    if asked == 0:
        return [Fraction(1, len(stays)) for _ in stays]
    # More asked than there are: a pod's end was not seen yet.
    there = max(asked, node_gpus, *(stay.node_gpus for stay in stays))
    return [Fraction(stay.gpus, there) for stay in stays]


def node_seconds(
    stays: Iterable[StayEntry], *, since: datetime, until: datetime
) -> dict[str, float]:
    """Uid -> the seconds of whole nodes that the stay held between the two moments."""
    by_node: dict[str, list[StayEntry]] = defaultdict(list)
    for stay in stays:
        if stay.scheduled_at is not None and stay.place is not None:
            by_node[stay.node].append(stay)
    held: dict[str, float] = {}
    for own in by_node.values():
        for stay, seconds in _on_one_node(own, since, until):
            held[stay.uid] = held.get(stay.uid, 0.0) + seconds
    return held


def _on_one_node(
    stays: Sequence[StayEntry], since: datetime, until: datetime
) -> Iterable[tuple[StayEntry, float]]:
    """Cut wherever somebody comes or goes. Names of nodes come back, but never two at a time."""
    spans = [(max(s.scheduled_at or since, since), min(s.ended_at or until, until)) for s in stays]
    cuts = {at for start, end in spans if start < end for at in (start, end)}
    for begin, finish in pairwise(sorted(cuts)):
        present = [
            stay for stay, (start, end) in zip(stays, spans, strict=True) if start <= begin < end
        ]
        seconds = (finish - begin).total_seconds()
        for stay, share in zip(present, shares(present), strict=True) if present else ():
            yield stay, seconds * float(share)
