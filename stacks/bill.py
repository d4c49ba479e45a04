"""What a stack costs while nobody trains, and what a GPU hour costs when somebody does."""

from dataclasses import dataclass

HOURS_PER_MONTH = 730
IMAGES_GB = 7
"""Compressed: 3 GB of PyTorch's base and 0.1 GB of the rest, once as images and once as cache."""


@dataclass(frozen=True, kw_only=True)
class FixedCost:
    """One line of the monthly bill that is there even when nothing runs."""

    what: str
    quantity: str
    usd_per_month: float


@dataclass(frozen=True, kw_only=True)
class PoolPrice:
    """What a GPU of a pool costs: one node of its first instance type, divided by its GPUs.

    `instance_type` is a zone, and `gpus_per_node` may be 0, for nodes that nobody rents by type.
    """

    pool: str
    instance_type: str
    gpu: str
    gpus_per_node: int
    is_spot: bool
    most_nodes: int
    """Of all zones together."""
    spot_usd_per_hour: float
    """One node; typical, not a quote: spot prices move."""
    on_demand_usd_per_hour: float
    """One node; 0 where nobody names a price."""

    @property
    def saving(self) -> float:
        """Share of the list price that spot saves."""
        return 1 - self.spot_usd_per_hour / self.on_demand_usd_per_hour

    @property
    def most_usd_per_hour(self) -> float:
        """With every node that the pool may have, at the price that is paid for it."""
        usd = self.spot_usd_per_hour if self.is_spot else self.on_demand_usd_per_hour
        return self.most_nodes * usd

    @property
    def most_listed_usd_per_hour(self) -> float:
        """The same at the price on demand, above which no spot price rises."""
        return self.most_nodes * self.on_demand_usd_per_hour


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What a preview and docs/stack-cost.md show."""

    fixed: tuple[FixedCost, ...] = ()
    pools: tuple[PoolPrice, ...] = ()
    usage: tuple[str, ...] = ()
    """What comes on top with use."""
    source: str = ""
    """Where the prices are from, and of when."""

    @property
    def usd_per_month(self) -> float:
        """Of an idle stack."""
        return round(sum(line.usd_per_month for line in self.fixed), 2)

    @property
    def most_usd_per_hour(self) -> float:
        """Of all pools, full."""
        return sum(pool.most_usd_per_hour for pool in self.pools)

    @property
    def most_listed_usd_per_hour(self) -> float:
        """Of all pools, full, with spot as dear as on demand."""
        return sum(pool.most_listed_usd_per_hour for pool in self.pools)

    @property
    def most_usd_per_month(self) -> float:
        """An upper bound of a month, but for what comes with use."""
        return self.usd_per_month + HOURS_PER_MONTH * self.most_listed_usd_per_hour
