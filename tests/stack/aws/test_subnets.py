"""The subnet layout holds for every VPC and every choice of zones."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.aws.network.subnets import (
    RESERVED_ADDRESSES,
    SLOTS,
    VPC_PREFIXES,
    ZoneBlocks,
    nodes_that_fit,
    slot_of,
    zone_blocks,
)
from spotrain import contract

LETTERS = "abcdefgh"
EVERY_ZONE = [f"us-east-1{letter}" for letter in LETTERS]
TAKEN_BY_AWS = 5
"""Addresses of every subnet that AWS keeps for itself."""


@st.composite
def vpcs(draw: st.DrawFn) -> IPv4Network:
    """Any block that the settings accept."""
    prefix = draw(st.sampled_from(VPC_PREFIXES))
    private = draw(st.sampled_from(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]))
    whole = IPv4Network(private)
    index = draw(st.integers(0, 2 ** (prefix - whole.prefixlen) - 1))
    return IPv4Network((int(whole.network_address) + index * 2 ** (32 - prefix), prefix))


zones = st.sets(st.sampled_from(EVERY_ZONE), min_size=1)
"""Any choice of them."""


def subnets(blocks: dict[str, ZoneBlocks]) -> list[IPv4Network]:
    return [block for zone in blocks.values() for block in (zone.private, zone.public)]


@given(vpcs(), zones)
def test_every_subnet_lies_in_the_vpc_and_no_two_overlap(
    vpc: IPv4Network, chosen: set[str]
) -> None:
    blocks = subnets(zone_blocks(vpc, chosen))
    assert len(blocks) == 2 * len(chosen)
    assert all(block.subnet_of(vpc) for block in blocks)
    assert not any(a.overlaps(b) for a, b in combinations(blocks, 2))


@given(vpcs(), zones, zones)
def test_no_other_zone_moves_a_zones_subnets(
    vpc: IPv4Network, some: set[str], others: set[str]
) -> None:
    """Whether zones are added or removed: a moved subnet would replace every node in it."""
    before, after = zone_blocks(vpc, some), zone_blocks(vpc, others)
    stayed = some & others
    assert {zone: after[zone] for zone in stayed} == {zone: before[zone] for zone in stayed}


@given(vpcs(), st.permutations(EVERY_ZONE))
def test_the_order_in_which_zones_are_written_does_not_matter(
    vpc: IPv4Network, written: list[str]
) -> None:
    assert zone_blocks(vpc, written) == zone_blocks(vpc, EVERY_ZONE)


@given(vpcs(), zones)
def test_subnets_are_as_large_as_their_users_ask_for(vpc: IPv4Network, chosen: set[str]) -> None:
    for block in zone_blocks(vpc, chosen).values():
        assert 16 <= block.private.prefixlen <= 28, "AWS makes no other subnet"
        assert block.private.num_addresses - TAKEN_BY_AWS >= 16, "EKS asks for 16 in its subnets"
        assert nodes_that_fit(block.private) >= 1
        assert block.public.prefixlen <= 27, "a load balancer asks for a /27"
        assert block.private.num_addresses >= 8 * block.public.num_addresses


@given(vpcs(), zones)
def test_three_eighths_of_every_zone_stay_free_for_later_subnets(
    vpc: IPv4Network, chosen: set[str]
) -> None:
    slot = vpc.num_addresses // SLOTS
    for block in zone_blocks(vpc, chosen).values():
        used = block.private.num_addresses + block.public.num_addresses
        assert slot - used >= slot * 3 // 8


@pytest.mark.parametrize("prefix", VPC_PREFIXES)
@pytest.mark.parametrize("letter", LETTERS)
def test_a_zone_has_its_place_by_its_letter(letter: str, prefix: int) -> None:
    vpc = IPv4Network(("10.0.0.0", prefix))
    start = int(vpc.network_address) + LETTERS.index(letter) * vpc.num_addresses // 8
    for region in ("us-east-1", "ap-southeast-2"):
        zone = f"{region}{letter}"
        block = zone_blocks(vpc, [zone])[zone]
        assert int(block.private.network_address) == start
        assert block.private.num_addresses == vpc.num_addresses // 16
        assert int(block.public.network_address) == start + block.private.num_addresses


@given(st.integers(16, 28))
def test_as_many_nodes_fit_as_there_are_addresses_for_and_not_one_more(prefix: int) -> None:
    block = IPv4Network(("10.0.0.0", prefix))
    nodes = nodes_that_fit(block)

    def wanted(count: int) -> int:
        return count * contract.ADDRESSES_PER_NODE + RESERVED_ADDRESSES

    assert nodes >= 0
    assert nodes == 0 or wanted(nodes) <= block.num_addresses
    assert wanted(nodes + 1) > block.num_addresses


@given(st.integers(16, 28), st.integers(16, 28))
def test_a_larger_subnet_never_holds_fewer_nodes(one: int, other: int) -> None:
    large, small = (IPv4Network(("10.0.0.0", prefix)) for prefix in sorted((one, other)))
    assert nodes_that_fit(large) >= nodes_that_fit(small)


@pytest.mark.parametrize(
    ("vpc", "private", "public", "nodes"),
    [
        ("10.0.0.0/16", "10.0.32.0/20", "10.0.48.0/24", 169),
        ("10.0.0.0/17", "10.0.16.0/21", "10.0.24.0/25", 84),
        ("10.0.0.0/18", "10.0.8.0/22", "10.0.12.0/26", 41),
        ("10.0.0.0/19", "10.0.4.0/23", "10.0.6.0/27", 20),
        ("10.0.0.0/20", "10.0.2.0/24", "10.0.3.0/27", 9),
    ],
)
def test_what_a_vpc_of_each_size_gives_to_zone_b(
    vpc: str, private: str, public: str, nodes: int
) -> None:
    blocks = zone_blocks(IPv4Network(vpc), ["us-east-1b"])["us-east-1b"]
    assert (str(blocks.private), str(blocks.public)) == (private, public)
    assert nodes_that_fit(blocks.private) == nodes


@pytest.mark.parametrize("zone", ["us-east-1-bos-1z", "us-east-1i", "us-east-1", "us-east-1A"])
def test_a_zone_without_a_slot_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="letter from a to h"):
        slot_of(zone)
