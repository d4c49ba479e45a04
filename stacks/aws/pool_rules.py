"""Rules about GPU pools; pure, one rule a function."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotrain import contract
from stacks.aws.instances import GpuInstance, gpu_catalog
from stacks.cloud_rules import PoolTerms, pool_is_placed
from stacks.other_words import of_another_cloud
from stacks.problems import Problem, every, suggestion

if TYPE_CHECKING:
    from stacks.aws.cluster_schema import Pool
    from stacks.aws.schema import AwsSettings

OWN_POOL = "move this type to a pool of its own"
TERMS = PoolTerms(
    cloud="AWS",
    groups="node groups",
    why_zones="a node needs the zone's subnet, and a zone has one group of a pool",
)


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    for index, pool in enumerate(settings.pools):
        path = f"pools[{index}]"
        yield from pool_is_placed(path, index, settings, TERMS)
        unknown = list(every([_gpu_is_known, _types_are_known], path, pool))
        yield from unknown
        if not unknown:
            yield from every([_types_are_one_kind, _types_have_the_same_adapters], path, pool)


def warnings(settings: "AwsSettings") -> Iterator[str]:
    """Pools that will work but wait for capacity."""
    for index, pool in enumerate(settings.pools):
        if pool.capacity == contract.CAPACITY_SPOT and len(pool.instance_types) == 1:
            yield (
                f"pools[{index}].instance_types: spot pool {pool.name!r} names one type, so it has "
                f"one capacity to lose. If jobs wait too long, {_more_capacity(pool)}."
            )
        if pool.efa and pool.max_nodes == 1:
            yield (
                f"pools[{index}].efa: adapters connect nodes, and pool {pool.name!r} has one in a "
                "zone. Raise max_nodes, or set efa to false: more places can serve it then."
            )


def _more_capacity(pool: "Pool") -> str:
    same = [
        instance.name
        for instance in gpu_catalog().types.values()
        if (instance.gpu, instance.gpus) == (pool.gpu, pool.gpus_per_node)
        and instance.name not in pool.instance_types
    ]
    if same:
        return f"add {' or '.join(same[:3])}"
    return f"add a zone or an on-demand twin: no other type has {pool.gpus_per_node} {pool.gpu}"


def _gpu_is_known(path: str, pool: "Pool") -> Iterator[Problem]:
    known = {instance.gpu for instance in gpu_catalog().types.values()}
    if pool.gpu not in known:
        yield Problem(
            path=f"{path}.gpu",
            value=pool.gpu,
            rule="a GPU of stacks/aws/gpus.yaml, in lower case",
            reason="jobs ask for it by this name, and its instance types are found by it",
            next_step=suggestion(pool.gpu, known),
        )


def _types_are_known(path: str, pool: "Pool") -> Iterator[Problem]:
    known = gpu_catalog().types
    fitting = [name for name, instance in known.items() if instance.gpu == pool.gpu]
    for index, name in enumerate(pool.instance_types):
        if name not in known:
            yield Problem(
                path=f"{path}.instance_types[{index}]",
                value=name,
                rule="a GPU instance type of stacks/aws/gpus.yaml",
                reason="its GPU, memory and price cannot be told otherwise",
                next_step=f"{of_another_cloud('machine type', name, 'aws')}"
                f"{suggestion(name, fitting or known)}; or add it there with shape and price",
            )


def _types_are_one_kind(path: str, pool: "Pool") -> Iterator[Problem]:
    types = [gpu_catalog().types[name] for name in pool.instance_types]
    for index, instance in enumerate(types):
        place = f"{path}.instance_types[{index}]"
        if instance.gpu != pool.gpu:
            rule, reason = f"GPU {pool.gpu}", f"it has {instance.gpu}"
            same = all(other.gpu == instance.gpu for other in types)
            change = f"set {path}.gpu to {instance.gpu}" if same else OWN_POOL
            yield _differs(place, instance, rule, reason, f"{change}, or {_types_for(pool)}")
        elif instance.gpus != pool.gpus_per_node:
            rule = f"{pool.gpus_per_node} GPUs a node, as gpus_per_node says"
            same = all(other.gpus == instance.gpus for other in types)
            change = f"set {path}.gpus_per_node to {instance.gpus}" if same else OWN_POOL
            step = f"{change}, or {_types_for(pool)}"
            yield _differs(place, instance, rule, f"it has {instance.gpus}", step)
        elif instance.vcpu < types[0].vcpu or instance.memory_gib < types[0].memory_gib:
            rule = f"at least the vCPU and memory of the first type, {types[0].name}"
            reason = "the autoscaler models the first type only, so a pod could be promised a "
            step = f"order the types by size, or {OWN_POOL}"
            yield _differs(place, instance, rule, reason + "node that cannot hold it", step)


def _types_have_the_same_adapters(path: str, pool: "Pool") -> Iterator[Problem]:
    if not pool.efa:
        return
    types = [gpu_catalog().types[name] for name in pool.instance_types]
    for index, instance in enumerate(types):
        place, has = f"{path}.instance_types[{index}]", instance.efa_interfaces
        if not has:
            yield Problem(
                path=place,
                value=instance.name,
                rule=f"a type with EFA, as {path}.efa asks for",
                reason="it has none, and such an instance would not start",
                next_step=f"set {path}.efa to false, or {_types_with_efa(pool)}",
            )
        elif has != types[0].efa_interfaces:
            yield Problem(
                path=place,
                value=instance.name,
                rule=f"{types[0].efa_interfaces} EFA interfaces, like the first type",
                reason=f"it has {has}; a launch template lists them one by one",
                next_step=OWN_POOL,
            )


def _types_with_efa(pool: "Pool") -> str:
    same = [i for i in gpu_catalog().types.values() if i.gpu == pool.gpu and i.efa_interfaces]
    named = ", ".join(f"{i.name} (gpus_per_node: {i.gpus})" for i in same)
    return f"name types with {pool.gpu} that have it: {named}"


def _types_for(pool: "Pool") -> str:
    """Types that have what the pool promises, or at least its GPU."""
    right_gpu = [i for i in gpu_catalog().types.values() if i.gpu == pool.gpu]
    exact = [i for i in right_gpu if i.gpus == pool.gpus_per_node]
    if exact:
        return f"name types with {pool.gpu}, like {', '.join(i.name for i in exact[:3])}"
    named = ", ".join(f"{i.name} (gpus_per_node: {i.gpus})" for i in right_gpu[:3])
    return f"name types with {pool.gpu}, like {named}"


def _differs(path: str, instance: GpuInstance, rule: str, reason: str, next_step: str) -> Problem:
    return Problem(
        path=path,
        value=instance.name,
        rule=rule,
        reason=f"{reason}; nodes of one pool must serve the same pods",
        next_step=next_step,
    )
