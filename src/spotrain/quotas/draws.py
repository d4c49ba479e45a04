"""What nodes draw on a quota: arithmetic, of no cloud."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Nodes of one kind that draw on one quota."""

    name: str
    """Of the pool."""
    smallest: int
    """What one node takes at least: GPUs, vCPUs or GB."""
    largest: int
    """What one node may take: a group may get any of its types."""
    nodes: int
    """Most of them."""
    first: int = 1
    """Those without which nothing starts: one of a pool, the fewest of the managers."""
    trains: bool = True
    """False: what the pools of GPUs need beside them, such as managers, and what is there first."""


def same(name: str, each: int, nodes: int, *, first: int = 1, trains: bool = True) -> Draw:
    """Nodes of one size."""
    return Draw(name=name, smallest=each, largest=each, nodes=nodes, first=first, trains=trains)


def most(draws: Sequence[Draw]) -> int:
    """With every node that there may be."""
    return sum(draw.largest * draw.nodes for draw in draws)


def at_first(draws: Sequence[Draw]) -> int:
    """With one node of each pool, beside the fewest managers."""
    return sum(draw.largest * draw.first for draw in draws)


def least(draws: Sequence[Draw]) -> int:
    """Less than this, and no node comes that trains."""
    return min(draw.smallest for draw in [d for d in draws if d.trains] or draws)


def names(draws: Sequence[Draw]) -> str:
    return ", ".join(dict.fromkeys(draw.name for draw in draws))
