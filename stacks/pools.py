"""The pools of a stack file, with the on-demand twins that it asks for; alike on every cloud."""

from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar

from spotrain import contract


class Twinned(Protocol):
    """What pools of every cloud have."""

    @property
    def name(self) -> str: ...
    @property
    def on_demand_max_nodes(self) -> int: ...
    def model_copy(self, *, update: dict[str, Any]) -> Self: ...


Pool = TypeVar("Pool", bound=Twinned)


def pools_with_twins(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Every pool, each followed by its twin."""
    return tuple(each for pool in pools for each in (pool, *twin_of(pool)))


def twin_of(pool: Pool) -> tuple[Pool, ...]:
    """The same nodes on demand, or nothing."""
    if not pool.on_demand_max_nodes:
        return ()
    changes = {
        "name": twin_name(pool.name),
        "capacity": contract.CAPACITY_ON_DEMAND,
        "max_nodes": pool.on_demand_max_nodes,
        "on_demand_max_nodes": 0,
    }
    return (pool.model_copy(update=changes),)


def twin_name(pool: str) -> str:
    """t4 -> t4-on-demand"""
    return f"{pool}-{contract.CAPACITY_ON_DEMAND}"
