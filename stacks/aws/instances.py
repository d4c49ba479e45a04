"""Facts about GPU instance types: the reader of gpus.yaml."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Family(_Table):
    gpu: str
    gpu_memory_gib: int
    typical_spot_share: Annotated[float, Field(gt=0, le=1)]


class _Type(_Table):
    vcpu: Count
    memory_gib: Count
    gpus: Count
    efa: Annotated[int, Field(ge=0)]
    local_disk_gb: Count
    max_pods: Count
    usd_per_hour: Positive


class _GpuTable(_Table):
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
    table = _GpuTable.model_validate(yaml.safe_load((HERE / "gpus.yaml").read_text()))
    types = {
        name: _instance(name, shape, table.families[name.split(".")[0]])
        for name, shape in table.types.items()
    }
    return GpuCatalog(
        as_of=table.as_of, source=table.source, region_factors=table.regions, types=types
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
