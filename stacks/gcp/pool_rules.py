"""Rules about GPU pools; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotrain import contract
from stacks.cloud_rules import PoolTerms, pool_is_placed
from stacks.gcp.machines import Machine, machine_catalog
from stacks.gcp.pool_zones import zones_of
from stacks.other_words import of_another_cloud
from stacks.problems import Problem, every, suggestion

if TYPE_CHECKING:
    from stacks.gcp.cluster_schema import Pool
    from stacks.gcp.schema import GcpSettings

TERMS = PoolTerms(
    cloud="Google",
    groups="node pools",
    why_zones="a job is offered the zones of the stack, and a zone has one node pool of a pool",
)
COMPACT_GPUS = ("a100", "a100-80gb", "h100", "l4")
"""GPUs whose machines Google places close to each other."""


def problems(settings: "GcpSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    for index, pool in enumerate(settings.pools):
        path = f"pools[{index}]"
        yield from pool_is_placed(path, index, settings, TERMS)
        unknown = list(every([_gpu_is_known, _type_is_known], path, pool))
        yield from unknown
        if not unknown:
            wrong = list(every([_type_has_the_gpus], path, pool))
            yield from wrong
            if not wrong:
                yield from every([_type_is_sold_there, _pool_has_a_zone], path, pool, settings)
                yield from every([_type_is_sold_on_demand, _compact_is_possible], path, pool)


def warnings(settings: "GcpSettings") -> Iterator[str]:
    """Pools that will work but wait for capacity."""
    for index, pool in enumerate(settings.pools):
        zones = zones_of(pool, settings)
        sold = machine_catalog().zones_with(pool.gpu, settings.region)
        for zone in zones:
            if zone not in sold:
                yield (
                    f"pools[{index}].zones: {zone} had no {pool.gpu} when stacks/gcp/gpus.yaml was "
                    f"written; {', '.join(sold)} had. `gcloud compute accelerator-types list` "
                    "tells what is so today."
                )
        if pool.capacity == contract.CAPACITY_SPOT and len(zones) == 1:
            yield (
                f"pools[{index}].zones: spot pool {pool.name!r} has one zone and one machine type, "
                "so it has one capacity to lose. If jobs wait too long, add a zone or an "
                "on-demand twin."
            )
        if pool.compact and pool.max_nodes == 1:
            yield (
                f"pools[{index}].compact: places nodes close to each other, and pool {pool.name!r} "
                "has one in a zone. Raise max_nodes, or set compact to false: more places can "
                "serve it then."
            )


def _gpu_is_known(path: str, pool: "Pool") -> Iterator[Problem]:
    shapes = [each for some in machine_catalog().shapes.values() for each in some]
    known = {each.gpu for each in shapes}
    as_google_says = {each.accelerator: each.gpu for each in shapes}
    if pool.gpu not in known:
        yield Problem(
            path=f"{path}.gpu",
            value=pool.gpu,
            rule="a GPU of stacks/gcp/gpus.yaml, in lower case",
            reason="jobs ask for it by this name, and its machine types are found by it",
            next_step=suggestion(as_google_says.get(pool.gpu, pool.gpu), known),
        )


def _type_is_known(path: str, pool: "Pool") -> Iterator[Problem]:
    known = machine_catalog().shapes
    if pool.machine_type not in known:
        hint = of_another_cloud("machine type", pool.machine_type, "gcp")
        fitting = [name for name, (first, *_) in known.items() if first.gpu == pool.gpu]
        yield Problem(
            path=f"{path}.machine_type",
            value=pool.machine_type,
            rule="a GPU machine type of stacks/gcp/gpus.yaml",
            reason="its GPU, memory and price cannot be told otherwise",
            next_step=f"{hint}{suggestion(pool.machine_type, fitting or known)}; or add it there "
            "with shape and prices",
        )


def _type_has_the_gpus(path: str, pool: "Pool") -> Iterator[Problem]:
    shapes = machine_catalog().shapes[pool.machine_type]
    counts = ", ".join(str(each.gpus) for each in shapes)
    if shapes[0].gpu != pool.gpu:
        yield Problem(
            path=f"{path}.machine_type",
            value=pool.machine_type,
            rule=f"a machine type with GPU {pool.gpu}",
            reason=f"it has {shapes[0].gpu}; jobs would find another GPU than they asked for",
            next_step=f"set {path}.gpu to {shapes[0].gpu}, or name {_types_with(pool.gpu)}",
        )
    elif machine_catalog().machine(pool.machine_type, pool.gpus_per_node) is None:
        yield Problem(
            path=f"{path}.gpus_per_node",
            value=pool.gpus_per_node,
            rule=f"{counts}: what {pool.machine_type} can have",
            reason="jobs are promised this number, and Google starts no other",
            next_step=f"set it to {counts.split(', ')[0]}, or name {_types_with(pool.gpu)}",
        )


def _types_with(gpu: str) -> str:
    shapes = [each for some in machine_catalog().shapes.values() for each in some]
    named = [f"{each.name} ({each.gpus})" for each in shapes if each.gpu == gpu]
    return f"a type with {gpu}, by its GPUs: {', '.join(named[:6])}"


def _type_is_sold_there(path: str, pool: "Pool", settings: "GcpSettings") -> Iterator[Problem]:
    catalog, machine = machine_catalog(), machine_of(pool)
    if settings.region in catalog.regions and catalog.price(machine, settings.region) is None:
        regions = [name for name in catalog.regions if catalog.price(machine, name)]
        yield Problem(
            path=f"{path}.machine_type",
            value=pool.machine_type,
            rule=f"a machine type that {settings.region} sells with {pool.gpu}",
            reason="a node of it would never come",
            next_step=f"these regions do: {', '.join(regions)}; or add it to stacks/gcp/gpus.yaml "
            "with zones and prices",
        )


def _pool_has_a_zone(path: str, pool: "Pool", settings: "GcpSettings") -> Iterator[Problem]:
    catalog = machine_catalog()
    sold = catalog.zones_with(pool.gpu, settings.region)
    if not sold or not set(settings.zones) <= set(catalog.zones(settings.region)):
        return  # the region, or the zones, are told to be wrong
    if not zones_of(pool, settings):
        yield Problem(
            path=f"{path}.zones",
            value=", ".join(settings.zones),
            rule=f"a zone with {pool.gpu}: {', '.join(sold)}",
            reason="no zone of the stack has this GPU, so no node would ever come",
            next_step="add one of these zones to zones, or name it here if Google has it there "
            "by now",
        )


def _type_is_sold_on_demand(path: str, pool: "Pool") -> Iterator[Problem]:
    on_demand = pool.capacity == contract.CAPACITY_ON_DEMAND or pool.on_demand_max_nodes
    if machine_of(pool).spot_only and on_demand:
        yield Problem(
            path=f"{path}.machine_type",
            value=pool.machine_type,
            rule="spot, without an on-demand twin",
            reason="Google sells this type on spot only",
            next_step="remove on_demand_max_nodes and capacity, or take the type with 8 GPUs",
        )


def _compact_is_possible(path: str, pool: "Pool") -> Iterator[Problem]:
    if pool.compact and pool.gpu not in COMPACT_GPUS:
        yield Problem(
            path=f"{path}.compact",
            value="true",
            rule=f"only with {', '.join(COMPACT_GPUS)}",
            reason=f"Google does not place machines with {pool.gpu} close to each other",
            next_step="remove it",
        )


def machine_of(pool: "Pool") -> Machine:
    """The machine of a pool that broke no rule."""
    machine = machine_catalog().machine(pool.machine_type, pool.gpus_per_node)
    assert machine, "a rule refuses pools without a machine"
    return machine
