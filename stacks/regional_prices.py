"""Prices of a region, from those of one: by one factor, as nobody lists more."""

from collections.abc import Collection, Mapping
from typing import Protocol, Self, TypeVar

from stacks.tables import Table

Prices = TypeVar("Prices", bound=Table)


class Machine(Protocol):
    @property
    def usd_per_hour(self) -> float: ...
    def model_copy(self, *, update: Mapping[str, float]) -> Self: ...


Type = TypeVar("Type", bound=Machine)


def scaled(prices: Prices, factor: float, *, same_everywhere: Collection[str]) -> Prices:
    """Each field of the table is a price."""
    changed = {name: usd * factor for name, usd in prices if name not in same_everywhere}
    return prices.model_copy(update=changed)


def managers_scaled(managers: Mapping[str, Type], factor: float) -> dict[str, Type]:
    return {
        name: each.model_copy(update={"usd_per_hour": each.usd_per_hour * factor})
        for name, each in managers.items()
    }
