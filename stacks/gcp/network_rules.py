"""Rules about region, zones, addresses and who may reach what; pure, one rule a function."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations
from typing import TYPE_CHECKING

from components.gcp.network.ranges import node_addresses, pod_addresses
from stacks.addresses import is_private, nobody_connects, wrong_public_blocks
from stacks.gcp.machines import machine_catalog
from stacks.gcp.pool_zones import zones_of
from stacks.place_rules import one_way_in, region_is_in, zones_are_named_once
from stacks.pools import pools_with_twins
from stacks.problems import Problem, every, suggestion

if TYPE_CHECKING:
    from stacks.gcp.schema import GcpSettings

PREFIXES = {"cidr": (16, 24), "pod_cidr": (11, 20), "service_cidr": (16, 24)}
"""Range of addresses -> its largest and its smallest size."""


def problems(settings: "GcpSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    yield from every([region_is_known], settings)
    found = list(every(RULES, settings))
    yield from found
    if not found:  # addresses are counted only in ranges that are right
        yield from every([every_node_finds_addresses], settings)


def warnings(settings: "GcpSettings") -> Iterator[str]:
    """What is accepted but cannot work as it stands."""
    access = settings.network.api_access
    yield from nobody_connects("network.api_access.cidrs", access.cidrs)


def region_is_known(settings: "GcpSettings") -> Iterator[Problem]:
    known = machine_catalog().regions
    yield from region_is_in(known, settings.region, cloud="gcp", adds="its zones and prices")


def zones_are_in_the_region(settings: "GcpSettings") -> Iterator[Problem]:
    if settings.region not in machine_catalog().regions:
        return
    known = machine_catalog().zones(settings.region)
    for index, zone in enumerate(settings.zones):
        path = f"zones[{index}]"
        whole = f"{settings.region}-{zone}" if len(zone) == 1 else zone
        if zone not in known:
            yield Problem(
                path=path,
                value=zone,
                rule=f"a zone of {settings.region}, like {known[0]}",
                reason="a cluster lives in one region",
                next_step=f"{suggestion(whole, known)}; or change region",
            )
    yield from zones_are_named_once(settings.zones, reason="a zone has one node pool of a pool")


def blocks_are_usable(settings: "GcpSettings") -> Iterator[Problem]:
    for field, (largest, smallest) in PREFIXES.items():
        block: IPv4Network = getattr(settings.network, field)
        if not largest <= block.prefixlen <= smallest or not is_private(block):
            default = type(settings.network).model_fields[field].default
            yield Problem(
                path=f"network.{field}",
                value=block,
                rule=f"private (10/8, 172.16/12 or 192.168/16) and from /{largest} to /{smallest}",
                reason="what is larger takes addresses that others need, what is smaller runs out "
                "of them, and none of the three can be changed while the cluster lives",
                next_step=f"leave it out ({default}), or set a block of that size",
            )


def blocks_are_apart(settings: "GcpSettings") -> Iterator[Problem]:
    blocks = {field: getattr(settings.network, field) for field in PREFIXES}
    for (one, first), (other, second) in combinations(blocks.items(), 2):
        if first.overlaps(second):
            yield Problem(
                path=f"network.{other}",
                value=second,
                rule=f"no overlap with network.{one} {first}",
                reason="nodes, pods and Services of a network find each other by their addresses",
                next_step=f"move network.{other} to a block of its own",
            )


def api_access_names_one_way(settings: "GcpSettings") -> Iterator[Problem]:
    access = settings.network.api_access
    instead = "`dns: true` to let IAM alone decide"
    yield from one_way_in(bool(access.cidrs), access.dns, other="dns", instead=instead)


def api_blocks_are_narrow(settings: "GcpSettings") -> Iterator[Problem]:
    yield from wrong_public_blocks(
        "network.api_access.cidrs",
        settings.network.api_access.cidrs,
        cloud="Google Cloud",
        instead="`dns: true`",
    )


def every_node_finds_addresses(settings: "GcpSettings") -> Iterator[Problem]:
    network = settings.network
    gpu_nodes = sum(
        pool.max_nodes * len(zones_of(pool, settings)) for pool in pools_with_twins(settings.pools)
    )
    managers = settings.managers.max_nodes
    pods = pod_addresses(gpu_nodes=gpu_nodes, managers=managers)
    if gpu_nodes + managers > (room := node_addresses(network.cidr)):
        yield Problem(
            path="network.cidr",
            value=network.cidr,
            rule=f"room for {gpu_nodes + managers} nodes; it has room for {room}",
            reason="a node without an address never joins",
            next_step="widen network.cidr (it costs nothing), or lower max_nodes of a pool",
        )
    if pods > network.pod_cidr.num_addresses:
        yield Problem(
            path="network.pod_cidr",
            value=network.pod_cidr,
            rule=f"{pods:,} addresses; it has {network.pod_cidr.num_addresses:,}",
            reason="GKE sets 64 addresses aside for the pods of a GPU node, and 256 for a "
            "manager's; a node without them never joins",
            next_step="widen network.pod_cidr (it costs nothing), or lower max_nodes of a pool",
        )


RULES = (
    zones_are_in_the_region,
    blocks_are_usable,
    blocks_are_apart,
    api_access_names_one_way,
    api_blocks_are_narrow,
)
