"""Checks of Compute Engine's quotas, which count GPUs: may the pools have the nodes they want?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spotrain import contract
from spotrain.clouds.project import Project, Quota
from spotrain.doctor.finding import Finding, fail, passed, warn
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
SPOT: Final = "PREEMPTIBLE_"


def check_quotas(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """One finding for each quota that the pools draw on, against the most that they may have."""
    wanted: dict[Quota, list[Pool]] = defaultdict(list)
    for pool in pools:
        if not pool.gpus_per_node:
            continue
        quota = find_quota(quotas, pool)
        if quota is None:
            said = f"Compute Engine lists no quota of {pool.capacity} {pool.gpu} in the region."
            yield warn(f"quota of {pool.name}", said, _console(project))
        else:
            wanted[quota].append(pool)
    for quota, drawing in wanted.items():
        yield judge(quota, drawing, where=project.region, fix=_console(project))


def check_all_regions(
    quota: Quota | None, pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Beside the region's own there is one for all GPUs of a project, which is 0 at first."""
    drawing = [pool for pool in pools if pool.gpus_per_node]
    if quota is not None and drawing:
        yield judge(quota, drawing, where="all regions", fix=_console(project))


def find_quota(quotas: Mapping[str, Quota], pool: Pool) -> Quota | None:
    """Spot machines draw on the quota of all machines where the project has none for them."""
    metric = METRICS.get(pool.gpu, "")
    of_spot = quotas.get(SPOT + metric) if pool.capacity == contract.CAPACITY_SPOT else None
    return of_spot if of_spot and of_spot.limit else quotas.get(metric) or of_spot


def judge(quota: Quota, pools: Sequence[Pool], *, where: str, fix: str) -> Finding:
    most = sum(pool.gpus_per_node * pool.max_nodes * len(pool.zones) for pool in pools)
    least = min(pool.gpus_per_node for pool in pools)
    names = ", ".join(pool.name for pool in pools)
    check = f"quota {quota.metric}"
    said = f"{quota.limit:.0f} GPUs in {where}, {quota.usage:.0f} in use; {names} may want {most}."
    if quota.limit < least:
        return fail(check, f"{said} The smallest node has {least}: none can be had.", fix)
    if quota.limit < most:
        return warn(check, said, fix)
    return passed(check, said)


def _console(project: Project) -> str:
    return (
        "ask for more in the console, IAM & Admin, Quotas; gcloud compute regions describe "
        f"{project.region} --project {project.id} shows what there is"
    )
