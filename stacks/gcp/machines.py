"""Facts about GPU machine types: the reader of gpus.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stacks.tables import Table, read_table

FILE = Path(__file__).with_name("gpus.yaml")
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class Family(Table):
    """Machine types whose names begin alike, and the GPU that they have or get."""

    gpu: str
    accelerator: str
    """The GPU, as Google names it."""
    gpu_memory_gib: Count
    attached: tuple[Count, ...] = ()
    """How many GPUs a machine may get; empty: its type says how many it has."""


class _Type(Table):
    vcpu: Count
    memory_gib: Count
    gpus: Annotated[int, Field(ge=0)]
    local_ssds: Annotated[int, Field(ge=0)] = 0
    spot_only: bool = False


class Price(Table):
    """Dollars an hour."""

    on_demand: Positive
    spot: Positive
    """A day's price, not a quote."""


class Region(Table):
    """What is sold where, and for how much."""

    zones: tuple[str, ...]
    """Their last letters."""
    factor: Positive
    """Price of an ordinary machine beside us-central1."""
    gpus: dict[str, tuple[str, ...]]
    """GPU -> letters of the zones that have it."""
    usd_per_hour: dict[str, Price]
    """Machine type, or accelerator that machines get, -> price."""


class _GpuTable(Table):
    as_of: str
    source: str
    families: dict[str, Family]
    types: dict[str, _Type]
    regions: dict[str, Region]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine type with the GPUs that one node of a pool has."""

    name: str
    gpu: str
    accelerator: str
    gpus: int
    gpu_memory_gib: int
    vcpu: int
    memory_gib: int
    local_ssds: int
    """Disks that it brings, whether anybody asks for them or not."""
    spot_only: bool
    gets_gpus: bool
    """Its GPUs are attached to it, and billed beside it."""


@dataclass(frozen=True, kw_only=True)
class MachineCatalog:
    """Every machine that a pool may name, and the regions."""

    as_of: str
    source: str
    regions: Mapping[str, Region]
    shapes: Mapping[str, tuple[Machine, ...]]
    """Machine type -> the machines that it can be, by their number of GPUs."""

    def machine(self, name: str, gpus: int) -> Machine | None:
        """The machine type with so many GPUs; None: there is none."""
        return next((each for each in self.shapes.get(name, ()) if each.gpus == gpus), None)

    def price(self, machine: Machine, region: str) -> Price | None:
        """Of one node; None: it is not sold there."""
        prices = self.regions[region].usd_per_hour
        node = prices.get(machine.name)
        if node is None or machine.gpu not in self.regions[region].gpus:
            return None
        if not machine.gets_gpus:
            return node
        gpu = prices[machine.accelerator]
        return Price(
            on_demand=round(node.on_demand + machine.gpus * gpu.on_demand, 4),
            spot=round(node.spot + machine.gpus * gpu.spot, 4),
        )

    def zones(self, region: str) -> tuple[str, ...]:
        """us-central1 -> us-central1-a, us-central1-b, ..."""
        return tuple(f"{region}-{letter}" for letter in self.regions[region].zones)

    def zones_with(self, gpu: str, region: str) -> tuple[str, ...]:
        """The zones of a region that have a GPU; none in a region that nobody knows."""
        letters = self.regions[region].gpus.get(gpu, ()) if region in self.regions else ()
        return tuple(f"{region}-{letter}" for letter in letters)


@cache
def machine_catalog() -> MachineCatalog:
    """The checked-in table, joined with its families."""
    table = read_table(FILE, _GpuTable)
    return MachineCatalog(
        as_of=table.as_of,
        source=table.source,
        regions=table.regions,
        shapes={
            name: tuple(_shapes(name, each, table.families[family_of(name)]))
            for name, each in table.types.items()
        },
    )


def family_of(name: str) -> str:
    """a2-highgpu-1g -> a2-highgpu"""
    return name.rpartition("-")[0]


def _shapes(name: str, shape: _Type, family: Family) -> list[Machine]:
    return [
        Machine(
            name=name,
            gpu=family.gpu,
            accelerator=family.accelerator,
            gpus=gpus,
            gpu_memory_gib=family.gpu_memory_gib,
            vcpu=shape.vcpu,
            memory_gib=shape.memory_gib,
            local_ssds=shape.local_ssds,
            spot_only=shape.spot_only,
            gets_gpus=bool(family.attached),
        )
        for gpus in family.attached or (shape.gpus,)
    ]
