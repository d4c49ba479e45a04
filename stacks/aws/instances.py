"""Facts about GPU instance types: the reader of gpus.yaml."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stacks.problems import Problem, SettingsError
from stacks.tables import Table, read_table

FILE = Path(__file__).with_name("gpus.yaml")
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class _Family(Table):
    gpu: str
    gpu_memory_gib: int
    typical_spot_share: Annotated[float, Field(gt=0, le=1)]


class _Type(Table):
    vcpu: Count
    memory_gib: Count
    gpus: Count
    efa: Annotated[int, Field(ge=0)]
    local_disk_gb: Count
    max_pods: Count
    usd_per_hour: Positive


class _GpuTable(Table):
    as_of: str
    source: str
    regions: dict[str, Positive]
    families: dict[str, _Family]
    types: dict[str, _Type]


@dataclass(frozen=True, kw_only=True)
class GpuInstance:
    """One instance type as a pool sees it; prices are those of us-east-1."""

    name: str
    gpu: str
    gpus: int
    gpu_memory_gib: int
    vcpu: int
    memory_gib: int
    efa_interfaces: int
    """One for each network card that has one; 0: no EFA."""
    local_disk_gb: int
    """NVMe disks of the instance, together, in gigabytes of 10^9 bytes."""
    max_pods: int
    """What its network interfaces have addresses for."""
    on_demand_usd_per_hour: float
    typical_spot_usd_per_hour: float
    """A typical price, not a quote: spot prices move by zone and by hour."""


@dataclass(frozen=True, kw_only=True)
class GpuCatalog:
    """Every GPU instance type that a pool may name, and what regions cost beside us-east-1."""

    as_of: str
    source: str
    region_factors: dict[str, float]
    types: dict[str, GpuInstance]


@cache
def gpu_catalog() -> GpuCatalog:
    """The checked-in table, joined with its families."""
    return read_catalog(FILE)


def read_catalog(path: Path) -> GpuCatalog:
    """A table like the checked-in one. Raises SettingsError: an entry is wrong."""
    table = read_table(path, _GpuTable)
    families = {name: name.split(".")[0] for name in table.types}
    orphans = [name for name in table.types if families[name] not in table.families]
    if orphans:
        raise SettingsError(path.name, [_no_family(name, families[name]) for name in orphans])
    types = {
        name: _instance(name, shape, table.families[families[name]])
        for name, shape in table.types.items()
    }
    return GpuCatalog(
        as_of=table.as_of, source=table.source, region_factors=table.regions, types=types
    )


def _no_family(name: str, family: str) -> Problem:
    return Problem(
        path=f"types.{name}",
        value=name,
        rule=f"a family {family} below `families`, with {', '.join(_Family.model_fields)}",
        reason="the GPU of a type, and what it costs on spot, stand with its family",
        next_step=f"add {family} to families",
    )


def _instance(name: str, shape: _Type, family: _Family) -> GpuInstance:
    return GpuInstance(
        name=name,
        gpu=family.gpu,
        gpus=shape.gpus,
        gpu_memory_gib=family.gpu_memory_gib,
        vcpu=shape.vcpu,
        memory_gib=shape.memory_gib,
        efa_interfaces=shape.efa,
        local_disk_gb=shape.local_disk_gb,
        max_pods=shape.max_pods,
        on_demand_usd_per_hour=shape.usd_per_hour,
        typical_spot_usd_per_hour=round(shape.usd_per_hour * family.typical_spot_share, 3),
    )
