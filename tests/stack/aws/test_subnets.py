"""The subnet layout holds for every VPC and every choice of zones."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.aws.subnets import (
    ADDRESSES_PER_NODE,
    RESERVED_ADDRESSES,
    SMALLEST_PREFIX,
    VPC_PREFIXES,
    nodes_that_fit,
    slot_of,
    zone_blocks,
)


@st.composite
def vpcs(draw: st.DrawFn) -> IPv4Network:
    prefix = draw(st.sampled_from(VPC_PREFIXES))
    address = draw(st.integers(0, 2**24 - 1)) + (10 << 24)
    return IPv4Network((address & ~(2 ** (32 - prefix) - 1), prefix))


zones = st.sets(st.sampled_from([f"us-east-1{letter}" for letter in "abcdefgh"]), min_size=1)


@given(vpcs(), zones)
def test_every_subnet_lies_in_the_vpc_and_no_two_overlap(
    vpc: IPv4Network, chosen: set[str]
) -> None:
    blocks = [b for zone in zone_blocks(vpc, chosen).values() for b in (zone.private, zone.public)]
    assert len(blocks) == 2 * len(chosen)
    assert all(block.subnet_of(vpc) for block in blocks)
    assert not any(a.overlaps(b) for a, b in combinations(blocks, 2))


@given(vpcs(), zones, zones)
def test_adding_zones_moves_no_subnet(vpc: IPv4Network, some: set[str], more: set[str]) -> None:
    before, after = zone_blocks(vpc, some), zone_blocks(vpc, some | more)
    assert {zone: after[zone] for zone in some} == before


@given(vpcs(), zones)
def test_no_subnet_is_smaller_than_aws_allows_and_nodes_get_most(
    vpc: IPv4Network, chosen: set[str]
) -> None:
    for block in zone_blocks(vpc, chosen).values():
        assert block.public.prefixlen <= SMALLEST_PREFIX
        assert block.private.num_addresses >= 8 * block.public.num_addresses


@given(st.integers(20, 28))
def test_the_nodes_that_fit_do_fit(prefix: int) -> None:
    block = IPv4Network(("10.0.0.0", prefix))
    nodes = nodes_that_fit(block)
    assert nodes * ADDRESSES_PER_NODE + RESERVED_ADDRESSES <= max(
        block.num_addresses, RESERVED_ADDRESSES
    )


def test_a_16_gives_each_zone_4096_addresses() -> None:
    blocks = zone_blocks(IPv4Network("10.0.0.0/16"), ["us-east-1b"])["us-east-1b"]
    assert str(blocks.private) == "10.0.32.0/20"
    assert str(blocks.public) == "10.0.48.0/24"


def test_a_zone_without_a_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="letter from a to h"):
        slot_of("us-east-1-bos-1z")
