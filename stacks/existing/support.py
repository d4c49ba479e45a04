"""A cluster that exists already, for a stack file that names one."""

from collections.abc import Mapping

from spotrain import contract
from spotrain.quotas.wanted import Needs
from stacks.bill import Bill, PoolPrice
from stacks.clouds import CloudSupport
from stacks.existing import rules
from stacks.existing.build import build, built_pool
from stacks.existing.schema import ExistingSettings


def _place(settings: ExistingSettings) -> str:
    return f"the cluster of context {settings.kubeconfig.context}"


def bill(settings: ExistingSettings, counts: Mapping[str, int]) -> Bill:
    """What the stack file says of the nodes; what else they cost is their owner's."""
    pools = [built_pool(pool) for pool in settings.pools]
    return Bill(
        pools=tuple(
            PoolPrice(
                pool=pool.name,
                instance_type=f"zone{'s' if len(pool.zones) > 1 else ''} {', '.join(pool.zones)}",
                gpu=pool.gpu,
                gpus_per_node=pool.gpus_per_node,
                is_spot=pool.capacity == contract.CAPACITY_SPOT,
                most_nodes=pool.max_nodes * len(pool.zones),
                spot_usd_per_hour=pool.spot_usd_per_hour,
                on_demand_usd_per_hour=pool.on_demand_usd_per_hour,
            )
            for pool in pools
        ),
        source="Nodes of your own: the stack adds none, and knows the prices of its file only.",
    )


def _quotas(settings: ExistingSettings) -> Needs:
    return Needs()  # the stack rents no machines


def _reach(settings: ExistingSettings, stack: str) -> str:
    return f"kubectl --context {settings.kubeconfig.context} get nodes"


SUPPORT = CloudSupport(
    settings=ExistingSettings,
    example="stacks/Pulumi.kind.yaml",
    problems=rules.problems,
    warnings=rules.warnings,
    build=build,
    place=_place,
    reach=_reach,
    bill=bill,
    quotas=_quotas,
)
