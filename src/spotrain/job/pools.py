"""The pools of nodes that the platform was built with, and the offers that they make.

The stack writes them to a ConfigMap, so that the controller needs to know no cloud.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import yaml
from pydantic import Field, Strict, ValidationError

from spotrain import contract
from spotrain.job.documents import InvalidDocument, Name, Problem, Section, explain, without_nulls
from spotrain.job.spec import CapacityPolicy

CAPACITIES: Final[Mapping[CapacityPolicy, tuple[str, ...]]] = {
    "spotThenOnDemand": (contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND),
    "spot": (contract.CAPACITY_SPOT,),
    "onDemand": (contract.CAPACITY_ON_DEMAND,),
}
"""What a job may buy, the first choice first."""


class PoolsError(InvalidDocument):
    """A pools ConfigMap that cannot be used; `.problems` has (path, message) of each fault."""


class Pool(Section):
    """A kind of node: one group of nodes in each of its zones."""

    name: Name
    gpu: Name
    """GPU model in lower case, as jobs ask for it; cpu for nodes without"""
    gpus_per_node: Annotated[int, Field(ge=0)]
    """0 for nodes without, on which jobs train on the processor"""
    capacity: Literal["spot", "on-demand"]
    zones: Annotated[tuple[str, ...], Field(min_length=1), Strict(False)]
    instance_types: Annotated[tuple[str, ...], Strict(False)] = ()
    """machine types of equal shape, so that any of them serves; none where nobody rents machines"""
    max_nodes: Annotated[int, Field(ge=0)]
    """most nodes in one zone"""
    notice_seconds: Annotated[int, Field(ge=1)]
    """what a pod has between SIGTERM and SIGKILL when its machine is taken back"""
    spot_usd_per_hour: Annotated[float, Field(ge=0)] | None = None
    """price of one node for one hour; 0 where nobody has named one"""
    on_demand_usd_per_hour: Annotated[float, Field(ge=0)]
    """price of one node for one hour; 0 where nobody has named one"""

    @property
    def usd_per_hour(self) -> float:
        """What a node of this pool costs; a spot price nobody knows counts as the full price."""
        spot = self.spot_usd_per_hour if self.capacity == contract.CAPACITY_SPOT else None
        return spot or self.on_demand_usd_per_hour

    @property
    def usd_per_gpu_hour(self) -> float:
        """What a GPU of this pool costs; where nodes have none, what a node does."""
        return self.usd_per_hour / max(self.gpus_per_node, 1)


@dataclass(frozen=True)
class Offer:
    """A place where a whole job may run. An empty zone means any zone of the pool."""

    pool: Pool
    zone: str
    spot_usd_per_hour: float | None = None
    """What a spot node costs there now; None: nobody has told lately."""

    @property
    def place(self) -> str:
        """Pool and zone in one word, as pods and claims name it."""
        return place_of(self.pool.name, self.zone)

    @property
    def usd_per_hour(self) -> float:
        """Price of one node for one hour: today's, or else the pool's own."""
        return self.spot_usd_per_hour or self.pool.usd_per_hour

    @property
    def usd_per_gpu_hour(self) -> float:
        return self.usd_per_hour / max(self.pool.gpus_per_node, 1)


def place_of(pool: str, zone: str) -> str:
    """The word for a pool and zone. Neither name can hold a slash."""
    return f"{pool}/{zone}"


class _Pools(Section):
    pools: Annotated[tuple[Pool, ...], Strict(False)]


def parse_pools(text: str) -> tuple[Pool, ...]:
    """The pools in the ConfigMap's YAML list; PoolsError names every fault."""
    what = f"{contract.POOLS_KEY} in the ConfigMap {contract.POOLS_CONFIGMAP}"
    try:
        document = yaml.safe_load(text) or []
    except yaml.YAMLError as error:
        raise PoolsError(what, [Problem("", f"is no YAML: {error}")]) from None
    try:
        parsed = _Pools.model_validate(
            without_nulls({"pools": document}), by_alias=True, by_name=False
        )
    except ValidationError as error:
        raise PoolsError(what, explain(error, _Pools)) from None
    names = [pool.name for pool in parsed.pools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"{twice} are named twice, and nodes are found by pool name; rename one of each."
        raise PoolsError(what, [Problem("pools", message)])
    return parsed.pools
