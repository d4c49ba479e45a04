"""What Compute Engine's list of prices says of machines with GPUs: pure.

A machine is billed as its parts: vCPUs, memory, GPUs. The list names each part in a sentence; these
are read to the letter, so that reservations, commitments and custom machines, whose sentences are a
little longer, are passed over. Prices are of a region, for all of its zones. Disks are not in them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

SERIES: Final[Mapping[str, str]] = {
    "a2-highgpu": "A2",
    "a2-ultragpu": "A2",
    "a3-highgpu": "A3",
    "a3-megagpu": "A3Plus",
    "e2-standard": "E2",
    "g2-standard": "G2",
    "n1-highcpu": "N1 Predefined",
    "n1-highmem": "N1 Predefined",
    "n1-standard": "N1 Predefined",
    "n2-standard": "N2",
}
"""Beginning of a machine type -> its series, in the list's words."""
GPUS: Final[Mapping[str, str]] = {
    "a100": "A100",
    "a100-80gb": "A100 80GB",
    "h100": "H100 80GB",
    "l4": "L4",
    "p100": "P100",
    "p4": "P4",
    "t4": "T4",
    "v100": "V100",
}
"""Model, as jobs ask for it -> the list's words."""
MEGA: Final = ("a3-megagpu", "H100 80GB Mega")
"""A series whose GPU has a price of its own."""
_SHARE: Final = re.compile(
    r"Spot Preemptible (?P<series>.+) Instance (?P<part>Core|Ram) running in .+"
)
_GPU: Final = re.compile(
    r"(?:Nvidia )?(?:Tesla )?(?P<gpu>.+) GPU attached to Spot Preemptible VMs running in .+"
)


class Part(StrEnum):
    core = "Core"
    ram = "Ram"
    """A GiB."""
    gpu = "GPU"


class Key(NamedTuple):
    region: str
    part: Part
    of: str
    """Series or GPU, in the list's words."""


Rates = Mapping[Key, float]
"""USD for one of it and one hour, on spot."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    type: str
    vcpus: int
    memory_gib: float


def read_rates(skus: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Key, float]]:
    """Spot prices of the parts that are known here; one that cannot be read says nothing."""
    for sku in skus:
        found = _meaning(sku.get("description", ""))
        usd = _usd(sku) if found else None
        if found is None or usd is None:
            continue
        for region in sku.get("serviceRegions") or ():
            yield Key(region, *found), usd


def usd_per_hour(
    machine: Machine, *, gpu: str, gpus: int, region: str, rates: Rates
) -> float | None:
    """What a spot node costs there. None: the list lacks one of its parts.

    gpu: model, as jobs ask for it; of no matter where there are no `gpus`.
    """
    shape = machine.type.rpartition("-")[0]
    series = SERIES.get(shape)
    if series is None:
        return None
    parts: dict[Key, float] = {
        Key(region, Part.core, series): machine.vcpus,
        Key(region, Part.ram, series): machine.memory_gib,
    }
    if gpus:
        model = MEGA[1] if shape == MEGA[0] else GPUS.get(gpu, "")
        parts[Key(region, Part.gpu, model)] = gpus
    if any(key not in rates for key in parts):
        return None
    return sum(count * rates[key] for key, count in parts.items())


def _meaning(description: str) -> tuple[Part, str] | None:
    if share := _SHARE.fullmatch(description):
        known = share["series"] in SERIES.values()
        return (Part(share["part"]), share["series"]) if known else None
    if gpu := _GPU.fullmatch(description):
        known = gpu["gpu"] in GPUS.values() or gpu["gpu"] == MEGA[1]
        return (Part.gpu, gpu["gpu"]) if known else None
    return None


def _usd(sku: Mapping[str, Any]) -> float | None:
    """The newest price of one unit, beyond any amount that is free."""
    try:
        newest = sku["pricingInfo"][-1]["pricingExpression"]
        price = newest["tieredRates"][-1]["unitPrice"]
        usd = int(price.get("units") or 0) + int(price.get("nanos") or 0) / 1e9
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    is_hourly = newest.get("usageUnit") in ("h", "GiBy.h")
    return usd if is_hourly and usd > 0 else None
