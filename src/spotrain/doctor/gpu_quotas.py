"""Checks of Compute Engine's quotas, which count GPUs: may the pools have the nodes they want?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from spotrain.clouds.project import Project, Quota
from spotrain.doctor.finding import Finding, warn
from spotrain.doctor.quota_verdict import judge
from spotrain.job import Pool
from spotrain.quotas import gcp
from spotrain.quotas.draws import Draw, same


def check_quotas(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """One finding for each quota that the pools draw on, against the most that they may have."""
    wanted: dict[Quota, list[Pool]] = defaultdict(list)
    for pool in pools:
        if not pool.gpus_per_node:
            continue
        quota = gcp.find_quota(quotas, gcp.GPUS.get(pool.gpu, ""), pool.capacity)
        if quota is None:
            said = f"Compute Engine lists no quota of {pool.capacity} {pool.gpu} in the region."
            yield warn(f"quota of {pool.name}", said, ask_for_more(project))
        else:
            wanted[quota].append(pool)
    for quota, drawing in wanted.items():
        yield judge_quota(quota, _gpus(drawing), project, unit="GPUs", where=project.region)


def check_all_regions(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Beside the region's own there is one for all GPUs of a project, which is 0 at first."""
    quota = quotas.get(gcp.ALL_GPUS)
    drawing = [pool for pool in pools if pool.gpus_per_node]
    if quota is not None and drawing:
        yield judge_quota(quota, _gpus(drawing), project, unit="GPUs", where="all regions")


def judge_quota(
    quota: Quota, draws: Sequence[Draw], project: Project, *, unit: str, where: str
) -> Finding:
    has = f"{quota.limit:.0f} {unit} in {where}, {quota.usage:.0f} in use"
    return judge(f"quota {quota.metric}", quota.limit, draws, has=has, fix=ask_for_more(project))


def ask_for_more(project: Project) -> str:
    return (
        f"ask for more in {gcp.ASK}; gcloud compute regions describe {project.region} "
        f"--project {project.id} shows what there is"
    )


def _gpus(pools: Sequence[Pool]) -> list[Draw]:
    return [same(pool.name, pool.gpus_per_node, pool.max_nodes * len(pool.zones)) for pool in pools]
