"""Checks of Compute Engine's quotas beside GPUs: may the pools have the vCPUs and the disks?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spotrain import contract
from spotrain.clouds.answers import Refused
from spotrain.clouds.project import NodePool, Project, Quota
from spotrain.doctor.finding import Finding
from spotrain.doctor.gpu_quotas import judge_quota
from spotrain.job import Pool
from spotrain.quotas import gcp
from spotrain.quotas.draws import Draw, same


@dataclass(frozen=True)
class _Nodes:
    """Machines of one type that are started together."""

    type: str
    capacity: str
    draw: Draw
    """Of vCPUs."""


def check_vcpus(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Of families whose quota the region lists; of the others that of GPUs says all. The managers
    draw on them too."""
    wanted: dict[Quota, list[Draw]] = defaultdict(list)
    for nodes in _all_nodes(pools, project):
        if quota := gcp.find_vcpus(quotas, nodes.type, nodes.capacity):
            wanted[quota].append(nodes.draw)
    for quota, draws in wanted.items():
        if any(draw.trains for draw in draws):
            yield judge_quota(quota, draws, project, unit="vCPUs", where=project.region)


def check_all_vcpus(
    quotas: Mapping[str, Quota], pools: Sequence[Pool], project: Project
) -> Iterator[Finding]:
    """Beside the regions' own there is one for all vCPUs of a project."""
    draws = [nodes.draw for nodes in _all_nodes(pools, project)]
    if draws and (quota := quotas.get(gcp.ALL_CPUS)):
        yield judge_quota(quota, draws, project, unit="vCPUs", where="all regions")


def check_disks(
    quotas: Mapping[str, Quota], node_pools: Sequence[NodePool], project: Project
) -> Iterator[Finding]:
    """Root disks of all node pools of the cluster, the managers' too."""
    draws = [
        same(each.pool or each.name, each.disk_gb, _most(each), trains=bool(each.pool))
        for each in node_pools
        if each.max_nodes and each.disk_gb and each.disk_type in gcp.ON_SSD
    ]
    if draws and (quota := quotas.get(gcp.SSD)):
        yield judge_quota(quota, draws, project, unit="GB", where=project.region)


def _all_nodes(pools: Sequence[Pool], project: Project) -> Iterator[_Nodes]:
    """Of the pools, and of the node pools that are of none, as far as Google tells their vCPUs."""
    for pool in pools:
        markets = [(pool.instance_types[0], zone) for zone in pool.zones]
        if vcpus := _vcpus(markets, project):
            draw = same(pool.name, vcpus, pool.max_nodes * len(pool.zones))
            yield _Nodes(pool.instance_types[0], pool.capacity, draw)
    for each in () if isinstance(project.node_pools, Refused) else project.node_pools:
        vcpus = _vcpus([each.market], project)
        if vcpus and each.max_nodes and not each.pool:
            capacity = contract.CAPACITY_SPOT if each.is_spot else contract.CAPACITY_ON_DEMAND
            draw = same(each.name, vcpus, _most(each), trains=False)
            yield _Nodes(each.machine_type, capacity, draw)


def _most(each: NodePool) -> int:
    nodes = each.max_nodes or 0
    return nodes if each.pool else gcp.managers_while_upgraded(nodes)


def _vcpus(markets: Sequence[tuple[str, str]], project: Project) -> int:
    """Of one node; 0 where no zone has told."""
    told = (project.types.get(market, 0) for market in markets)
    return max((each for each in told if not isinstance(each, Refused)), default=0)
