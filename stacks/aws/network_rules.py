"""Rules about region, zones, addresses and who may reach what; pure, one rule a function."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from components.aws.network.subnets import VPC_PREFIXES, nodes_that_fit, zone_blocks
from stacks.addresses import is_private, nobody_connects, wrong_public_blocks
from stacks.aws.instances import gpu_catalog
from stacks.place_rules import one_way_in, region_is_in, zones_are_named_once
from stacks.pools import pools_with_twins
from stacks.problems import Problem, every

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings


def problems(settings: "AwsSettings") -> Iterator[Problem]:
    """Every broken rule of this file."""
    found = list(every(RULES, settings))
    yield from found
    if not found:  # the layout exists only for zones and blocks that are right
        yield from every([every_node_finds_addresses], settings)


def warnings(settings: "AwsSettings") -> Iterator[str]:
    """What is accepted but cannot work as it stands."""
    access = settings.network.api_access
    yield from nobody_connects("network.api_access.cidrs", access.cidrs)
    registry = {"ecr.api", "ecr.dkr"}
    if len(registry & set(settings.network.endpoints)) == 1:
        yield (
            "network.endpoints: an image pull uses ecr.api and ecr.dkr; one without the other is "
            "paid for nothing. Name both, or neither."
        )


def region_is_known(settings: "AwsSettings") -> Iterator[Problem]:
    known = gpu_catalog().region_factors
    yield from region_is_in(known, settings.region, cloud="aws", adds="its price factor")


def zones_are_in_the_region(settings: "AwsSettings") -> Iterator[Problem]:
    if settings.region not in gpu_catalog().region_factors:
        return
    for index, zone in enumerate(settings.zones):
        path = f"zones[{index}]"
        if not re.fullmatch(re.escape(settings.region) + "[a-h]", zone):
            yield Problem(
                path=path,
                value=zone,
                rule=f"a zone of {settings.region}: the region and a letter from a to h",
                reason="a cluster lives in one region; local and wavelength zones have no EFS",
                next_step=f"name zones like {settings.region}a, or change region",
            )
    yield from zones_are_named_once(settings.zones, reason="a zone has one pair of subnets")


def vpc_block_is_usable(settings: "AwsSettings") -> Iterator[Problem]:
    block = settings.network.cidr
    if block.prefixlen not in VPC_PREFIXES or not is_private(block):
        yield Problem(
            path="network.cidr",
            value=block,
            rule="private (10/8, 172.16/12 or 192.168/16) and from /16 to /20",
            reason="AWS has no larger VPC, and a smaller one runs out of pod addresses",
            next_step="set network.cidr to a block like 10.0.0.0/16",
        )


def service_block_is_apart(settings: "AwsSettings") -> Iterator[Problem]:
    block, vpc = settings.network.service_cidr, settings.network.cidr
    if not is_private(block) or not 12 <= block.prefixlen <= 24:
        rule = "private (10/8, 172.16/12 or 192.168/16) and from /12 to /24"
        reason = "EKS refuses anything else"
    elif block.overlaps(vpc):
        rule = f"no overlap with network.cidr {vpc}"
        reason = "a Service's address would hide a node's"
    else:
        return
    yield Problem(
        path="network.service_cidr",
        value=block,
        rule=rule,
        reason=reason,
        next_step="leave it out (172.20.0.0/16), or set a private block outside the VPC",
    )


def api_access_names_one_way(settings: "AwsSettings") -> Iterator[Problem]:
    access = settings.network.api_access
    instead = "`private: vpn` or `private: runner` for no public endpoint"
    yield from one_way_in(
        bool(access.cidrs), bool(access.private), other="private", instead=instead
    )
    if access.private_cidrs and not access.private:
        yield Problem(
            path="network.api_access.private_cidrs",
            value=", ".join(map(str, access.private_cidrs)),
            rule="only with private",
            reason="a public endpoint is guarded by cidrs",
            next_step="remove it, or replace cidrs by private",
        )


def api_blocks_are_narrow(settings: "AwsSettings") -> Iterator[Problem]:
    yield from wrong_public_blocks(
        "network.api_access.cidrs",
        settings.network.api_access.cidrs,
        cloud="AWS",
        instead="`private`",
    )


def endpoints_are_named_once(settings: "AwsSettings") -> Iterator[Problem]:
    endpoints = settings.network.endpoints
    for index, service in enumerate(endpoints):
        if service in endpoints[:index]:
            yield Problem(
                path=f"network.endpoints[{index}]",
                value=service,
                rule="each service once",
                reason="a VPC has one endpoint for a service",
                next_step="remove the repetition",
            )


def private_ways_in_are_outside_the_vpc(settings: "AwsSettings") -> Iterator[Problem]:
    network = settings.network
    named = [("network.api_access.private_cidrs", network.api_access.private_cidrs)]
    named.append(("storage.mount_cidrs", settings.storage.mount_cidrs))
    for path, blocks in named:
        for index, block in enumerate(blocks):
            if not is_private(block) or block.overlaps(network.cidr):
                yield Problem(
                    path=f"{path}[{index}]",
                    value=block,
                    rule=f"a private block that does not overlap network.cidr {network.cidr}",
                    reason="it names who comes from outside the VPC by a VPN or a peering; an "
                    "overlapping block cannot be routed",
                    next_step="name the block of the other side, or remove the entry",
                )
            elif any(block.overlaps(other) for other in blocks[:index]):
                yield Problem(
                    path=f"{path}[{index}]",
                    value=block,
                    rule="no overlap with another entry",
                    reason="AWS refuses the same rule twice, and an overlap hides who lets whom in",
                    next_step="keep the one that you mean",
                )


def every_node_finds_addresses(settings: "AwsSettings") -> Iterator[Problem]:
    zones, vpc = settings.zones, settings.network.cidr
    for zone, blocks in zone_blocks(vpc, zones).items():
        pools = [p for p in pools_with_twins(settings.pools) if not p.zones or zone in p.zones]
        wanted = sum(pool.max_nodes for pool in pools) + settings.managers.max_nodes
        if wanted > (room := nodes_that_fit(blocks.private)):
            yield Problem(
                path="network.cidr",
                value=vpc,
                rule=f"room for {wanted} nodes in {zone}; {blocks.private} has room for {room}",
                reason="every pod has an address of the VPC; without one it never starts",
                next_step="widen network.cidr (a /16 costs nothing), or lower max_nodes of a pool",
            )


RULES = (
    region_is_known,
    zones_are_in_the_region,
    vpc_block_is_usable,
    service_block_is_apart,
    api_access_names_one_way,
    api_blocks_are_narrow,
    endpoints_are_named_once,
    private_ways_in_are_outside_the_vpc,
)
