"""Which of EC2's quotas a stack draws on, and how much; pure."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotrain import contract
from spotrain.quotas import aws
from spotrain.quotas.aws import KNOWN, KnownQuota
from spotrain.quotas.draws import Draw
from spotrain.quotas.wanted import Needs, Wanted
from stacks.aws.instances import gpu_catalog
from stacks.aws.services import service_catalog
from stacks.pools import pools_with_twins

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings


def quotas(settings: "AwsSettings") -> Needs:
    """Of its region, in which each is counted for itself."""
    drawn: dict[KnownQuota, list[Draw]] = defaultdict(list)
    unknown = []
    for capacity, instance_type, draw in _draws(settings):
        known = aws.find_quota(KNOWN, capacity, instance_type)
        if known is None:
            unknown.append(f"{draw.name} ({capacity}, {instance_type})")
        else:
            drawn[known].append(draw)
    region, managers = settings.region, settings.managers.max_nodes
    more = aws.managers_while_updated(managers) - managers
    wanted = [_wanted(known, drawn[known]) for known in KNOWN if known in drawn]
    return Needs(
        region=region,
        wanted=tuple(wanted),
        notes=[
            "New account: by EC2's user guide; yours may have more.",
            f"All full: {managers} managers, and up to {more} more while EKS updates them.",
            *(f"Look in the Service Quotas console for the quota of {name}." for name in unknown),
        ],
        show=[aws.show_quotas([each.code for each in wanted], region)],
        ask=[aws.raise_quota(each.code, each.most, region) for each in wanted],
    )


def _draws(settings: "AwsSettings") -> Iterator[tuple[str, str, Draw]]:
    """Capacity, the type by which the quota is found, and what is drawn on it."""
    types, managers = gpu_catalog().types, settings.managers
    for pool in pools_with_twins(settings.pools):
        sizes = [types[name].vcpu for name in pool.instance_types]
        nodes = pool.max_nodes * len(pool.zones or settings.zones)
        draw = Draw(name=pool.name, smallest=min(sizes), largest=max(sizes), nodes=nodes)
        yield pool.capacity, pool.instance_types[0], draw
    sizes = [service_catalog().managers[name].vcpu for name in managers.instance_types]
    draw = Draw(
        name="managers",
        smallest=min(sizes),
        largest=max(sizes),
        nodes=aws.managers_while_updated(managers.max_nodes),
        first=managers.min_nodes,
        trains=False,
    )
    yield contract.CAPACITY_ON_DEMAND, managers.instance_types[0], draw


def _wanted(known: KnownQuota, draws: list[Draw]) -> Wanted:
    return Wanted(
        names=(known.name,),
        code=known.code,
        unit="vCPUs",
        draws=tuple(draws),
        new=str(known.new),
    )
