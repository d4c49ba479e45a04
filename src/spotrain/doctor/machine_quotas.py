"""Checks of Compute Engine's quotas beside GPUs: may the pools have the vCPUs and the disks?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from spotrain.clouds.answers import Refused
from spotrain.clouds.project import NodePool, Project, Quota
from spotrain.doctor.draws import Draw, ask_for_more, judge
from spotrain.doctor.finding import Finding
from spotrain.doctor.gpu_quotas import find_quota
from spotrain.job import Pool

FIRST_FAMILIES: Final = ("E2", "N1")
"""Families without a quota of their own: they draw on CPUS."""
SSD: Final = "SSD_TOTAL_GB"
ON_SSD: Final = ("pd-balanced", "pd-ssd")
"""Types of disks that it counts."""


def check_vcpus(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Of families whose quota the region lists; of the others that of GPUs says all."""
    wanted: dict[Quota, list[Draw]] = defaultdict(list)
    for pool in pools:
        family = pool.instance_types[0].partition("-")[0].upper()
        metric = "CPUS" if family in FIRST_FAMILIES else f"{family}_CPUS"
        quota, vcpus = find_quota(quotas, metric, pool.capacity), _vcpus(pool, project)
        if quota and vcpus:
            wanted[quota].append(Draw(pool.name, vcpus, pool.max_nodes * len(pool.zones)))
    fix = ask_for_more(project)
    for quota, draws in wanted.items():
        yield judge(quota, draws, unit="vCPUs", where=project.region, fix=fix)


def check_disks(
    quotas: Mapping[str, Quota], node_pools: Sequence[NodePool], project: Project
) -> Iterator[Finding]:
    """Root disks of all node pools of the cluster, the managers' too."""
    draws = [
        Draw(each.pool or each.name, each.disk_gb, each.max_nodes)
        for each in node_pools
        if each.max_nodes and each.disk_gb and each.disk_type in ON_SSD
    ]
    if draws and SSD in quotas:
        fix = ask_for_more(project)
        yield judge(quotas[SSD], draws, unit="GB", where=project.region, fix=fix)


def _vcpus(pool: Pool, project: Project) -> int:
    """Of one node; 0 where no zone has told."""
    told = (project.types.get((pool.instance_types[0], zone), 0) for zone in pool.zones)
    return max((each for each in told if not isinstance(each, Refused)), default=0)
