"""Compute Engine's quotas: how they are called, which machines draw on which, what lists them."""

from collections.abc import Mapping
from typing import Final, Protocol, TypeVar

from spotrain import contract


class Limited(Protocol):
    @property
    def limit(self) -> float: ...


GPUS: Final[Mapping[str, str]] = {
    "a100": "NVIDIA_A100_GPUS",
    "a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "h100": "NVIDIA_H100_GPUS",
    "l4": "NVIDIA_L4_GPUS",
    "p100": "NVIDIA_P100_GPUS",
    "p4": "NVIDIA_P4_GPUS",
    "t4": "NVIDIA_T4_GPUS",
    "v100": "NVIDIA_V100_GPUS",
}
"""GPU model -> the quota of its region; on spot with PREEMPTIBLE_ before it."""
SPOT: Final = "PREEMPTIBLE_"
ALL_GPUS: Final = "GPUS_ALL_REGIONS"
ALL_CPUS: Final = "CPUS_ALL_REGIONS"
"""12 or 32 in a new project, where a region may have hundreds. Google does not say which machines
it leaves out, so none is left out here."""
SSD: Final = "SSD_TOTAL_GB"
ON_SSD: Final = ("pd-balanced", "pd-ssd")
"""Types of disks that it counts."""
VCPUS: Final[Mapping[str, tuple[str, ...]]] = {"e2": ("E2_CPUS", "CPUS"), "n1": ("CPUS",)}
"""Family -> the quotas on whose first that the region lists it draws; others draw on one of their
own where there is one, and where not the quota of GPUs says all."""
NEW: Final[Mapping[str, str]] = {
    ALL_GPUS: "0",
    ALL_CPUS: "12 or 32",
    "CPUS": "24 or more",
    "E2_CPUS": "24 or more",
    SSD: "250 or 500",
    **{prefix + metric: "0" for prefix in ("", SPOT) for metric in GPUS.values()},
}
"""Quota -> what a new project has of it, as people report; Google says of none."""
LISTED: Final = '--flatten "quotas[]" --format "table(quotas.metric,quotas.limit,quotas.usage)"'
"""One quota a line: grep would else find everything."""
ASK: Final = "the console, IAM & Admin, Quotas"
"""Where a person asks for more."""
Quota = TypeVar("Quota", bound=Limited)


def managers_while_upgraded(nodes: int) -> int:
    """Theirs is upgraded by a new node first; in pools of GPUs an old one goes first."""
    return nodes + 1


def names_of(metric: str, capacity: str) -> tuple[str, ...]:
    """Spot machines draw on the quota of all machines where the project has none for them."""
    return (SPOT + metric, metric) if capacity == contract.CAPACITY_SPOT else (metric,)


def vcpus_of(machine_type: str) -> tuple[str, ...]:
    """n1-standard-4 -> the quotas of its family."""
    family = machine_type.partition("-")[0]
    return VCPUS.get(family, (f"{family.upper()}_CPUS",))


def find_quota(quotas: Mapping[str, Quota], metric: str, capacity: str) -> Quota | None:
    """The one that counts, of those that a project has; for spot one of 0 counts as none."""
    found = [quotas[name] for name in names_of(metric, capacity) if name in quotas]
    return next((quota for quota in found[:-1] if quota.limit), found[-1] if found else None)


def find_vcpus(quotas: Mapping[str, Quota], machine_type: str, capacity: str) -> Quota | None:
    """The one on which the vCPUs of a machine type draw."""
    metrics = vcpus_of(machine_type)
    metric = next((each for each in metrics if each in quotas), metrics[-1])
    return find_quota(quotas, metric, capacity)


def show_quotas(region: str, project: str) -> tuple[str, str]:
    """The commands that print what a project has: of the region, and of all together."""
    return (
        f"gcloud compute regions describe {region} --project {project} {LISTED} "
        '| grep -E "GPUS|CPUS|SSD_TOTAL_GB"',
        f"gcloud compute project-info describe --project {project} {LISTED} "
        '| grep -E "(GPUS|CPUS)_ALL_REGIONS"',
    )
