"""Checks of Compute Engine's quotas, which count GPUs: may the pools have the nodes they want?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spotrain import contract
from spotrain.clouds.project import Project, Quota
from spotrain.doctor.draws import Draw, ask_for_more, judge
from spotrain.doctor.finding import Finding, warn
from spotrain.job import Pool

METRICS: Final[Mapping[str, str]] = {
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
ALL_REGIONS: Final = "GPUS_ALL_REGIONS"
SPOT: Final = "PREEMPTIBLE_"


def check_quotas(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """One finding for each quota that the pools draw on, against the most that they may have."""
    wanted: dict[Quota, list[Pool]] = defaultdict(list)
    for pool in pools:
        if not pool.gpus_per_node:
            continue
        quota = find_quota(quotas, METRICS.get(pool.gpu, ""), pool.capacity)
        if quota is None:
            said = f"Compute Engine lists no quota of {pool.capacity} {pool.gpu} in the region."
            yield warn(f"quota of {pool.name}", said, ask_for_more(project))
        else:
            wanted[quota].append(pool)
    for quota, drawing in wanted.items():
        yield judge(
            quota, _gpus(drawing), unit="GPUs", where=project.region, fix=ask_for_more(project)
        )


def check_all_regions(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Beside the region's own there is one for all GPUs of a project, which is 0 at first."""
    quota = quotas.get(ALL_REGIONS)
    drawing = [pool for pool in pools if pool.gpus_per_node]
    if quota is not None and drawing:
        yield judge(
            quota, _gpus(drawing), unit="GPUs", where="all regions", fix=ask_for_more(project)
        )


def find_quota(quotas: Mapping[str, Quota], metric: str, capacity: str) -> Quota | None:
    """Spot machines draw on the quota of all machines where the project has none for them."""
    of_spot = quotas.get(SPOT + metric) if capacity == contract.CAPACITY_SPOT else None
    return of_spot if of_spot and of_spot.limit else quotas.get(metric) or of_spot


def _gpus(pools: Sequence[Pool]) -> list[Draw]:
    return [Draw(pool.name, pool.gpus_per_node, pool.max_nodes * len(pool.zones)) for pool in pools]
