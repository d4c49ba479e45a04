"""Which of Compute Engine's quotas a stack draws on, and how much; pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spotrain import contract
from spotrain.quotas import gcp
from spotrain.quotas.draws import Draw, same
from spotrain.quotas.wanted import Needs, Wanted
from stacks.gcp.pool_rules import machine_of
from stacks.gcp.pool_zones import zones_of
from stacks.gcp.services import service_catalog
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.gcp.schema import GcpSettings

Key = tuple[str, tuple[str, ...]]
"""Unit, and names of the quota."""


@dataclass(frozen=True, kw_only=True)
class _Nodes:
    """Of one kind: a pool's, or the managers."""

    name: str
    machine_type: str
    capacity: str
    gpu: str = ""
    gpus: int = 0
    vcpus: int
    disk_gb: int
    most: int
    first: int = 1

    @property
    def family(self) -> str:
        return self.machine_type.partition("-")[0]

    def draw(self, each: int) -> Draw:
        return same(self.name, each, self.most, first=self.first, trains=bool(self.gpus))


def quotas(settings: "GcpSettings") -> Needs:
    """Of its region, and of the project in all regions."""
    drawn: dict[Key, list[Draw]] = defaultdict(list)
    nodes = tuple(_nodes(settings))
    for each in nodes:
        for (unit, names), size in _sizes(each):
            drawn[unit, names].append(each.draw(size))
    if settings.observability.metrics:
        gb = settings.observability.metrics_disk_gib
        drawn["GB", (gcp.SSD,)].append(same("Prometheus", gb, 1, trains=False))
    return Needs(
        region=settings.region,
        wanted=tuple(
            Wanted(names=names, unit=unit, draws=tuple(drawn[key]), new=gcp.NEW.get(names[0], ""))
            for key in sorted(drawn, key=_order)
            for unit, names in [key]
        ),
        notes=tuple(_notes(nodes)),
        show=gcp.show_quotas(settings.region, settings.project),
        ask=(f"in {gcp.ASK}",),
    )


def _sizes(nodes: _Nodes) -> Iterator[tuple[Key, int]]:
    """What one of them takes of each quota."""
    if nodes.gpus:
        if nodes.gpu in gcp.GPUS:
            yield ("GPUs", gcp.names_of(gcp.GPUS[nodes.gpu], nodes.capacity)), nodes.gpus
        yield ("GPUs", (gcp.ALL_GPUS,)), nodes.gpus
    if nodes.family in gcp.VCPUS:
        named = [gcp.names_of(name, nodes.capacity) for name in gcp.VCPUS[nodes.family]]
        yield ("vCPUs", tuple(name for names in named for name in names)), nodes.vcpus
    yield ("vCPUs", (gcp.ALL_CPUS,)), nodes.vcpus
    yield ("GB", (gcp.SSD,)), nodes.disk_gb


def _nodes(settings: "GcpSettings") -> Iterator[_Nodes]:
    for pool in pools_with_twins(settings.pools):
        machine = machine_of(pool)
        yield _Nodes(
            name=pool.name,
            machine_type=machine.name,
            capacity=pool.capacity,
            gpu=machine.gpu,
            gpus=machine.gpus,
            vcpus=machine.vcpu,
            disk_gb=pool.disk_gib,
            most=pool.max_nodes * len(zones_of(pool, settings)),
        )
    managers = settings.managers
    yield _Nodes(
        name="managers",
        machine_type=managers.machine_type,
        capacity=contract.CAPACITY_ON_DEMAND,
        vcpus=service_catalog().managers[managers.machine_type].vcpu,
        disk_gb=managers.disk_gib,
        most=gcp.managers_while_upgraded(managers.max_nodes),
        first=managers.min_nodes,
    )


def _order(key: Key) -> tuple[int, bool]:
    """GPUs, then vCPUs, then disks; of each the region's first, in the pools' order."""
    unit, (name, *_) = key
    return ("GPUs", "vCPUs", "GB").index(unit), name in (gcp.ALL_GPUS, gcp.ALL_CPUS)


def _notes(nodes: Sequence[_Nodes]) -> Iterator[str]:
    yield (
        "New account: of a new project, as people report. All full: one manager more than their "
        "most, while GKE upgrades them."
    )
    yield "Where a project has none of the first name, all that draws on the other adds up there."
    if others := sorted({each.family.upper() for each in nodes if each.family not in gcp.VCPUS}):
        yield (
            f"vCPUs of {', '.join(others)} draw on a quota of their own ({others[0]}_CPUS) where "
            "the region lists one."
        )
    yield "Nodes have no public address, NAT takes one."
    for each in nodes:  # of a GPU that somebody has added to gpus.yaml
        if each.gpus and each.gpu not in gcp.GPUS:
            yield f"Look in {gcp.ASK}, for the quota of {each.name} ({each.capacity}, {each.gpu})."
