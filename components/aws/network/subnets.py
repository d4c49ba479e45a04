"""The subnet layout, as arithmetic: no Pulumi, no AWS."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from spotrain import contract

SLOTS = 8
"""Zones a..h. The slot comes from the zone's letter, never from its place in a list, so that adding
or removing a zone moves no other zone's subnets (a moved subnet replaces every node in it)."""
SMALLEST_PREFIX = 27
"""An application load balancer takes no smaller subnet; AWS itself would allow a /28."""
VPC_PREFIXES = range(16, 21)
"""AWS allows nothing larger than /16; below /20 a zone has too few addresses to be worth it."""
RESERVED_ADDRESSES = 32
"""Per zone: 5 that AWS keeps, control-plane interfaces, a mount target, interface endpoints."""


@dataclass(frozen=True, kw_only=True)
class ZoneBlocks:
    """The two subnets of one zone."""

    private: IPv4Network
    """Nodes and pods: half of the zone's slot."""
    public: IPv4Network
    """NAT gateways and load balancers: 1/16 of the slot at most, as they need few addresses."""


def zone_blocks(vpc: IPv4Network, zones: Iterable[str]) -> dict[str, ZoneBlocks]:
    """The blocks of each zone. What a slot has left over is kept for later subnets."""
    slots = list(vpc.subnets(new_prefix=vpc.prefixlen + 3))
    return {zone: _blocks(slots[slot_of(zone)]) for zone in sorted(zones)}


def slot_of(zone: str) -> int:
    """us-east-1c -> 2"""
    slot = ord(zone[-1]) - ord("a")
    if not 0 <= slot < SLOTS:
        raise ValueError(f"zone {zone!r} must end in a letter from a to h")
    return slot


def _blocks(slot: IPv4Network) -> ZoneBlocks:
    private, rest = slot.subnets(new_prefix=slot.prefixlen + 1)
    public_prefix = min(SMALLEST_PREFIX, slot.prefixlen + 5)
    return ZoneBlocks(private=private, public=next(rest.subnets(new_prefix=public_prefix)))


def nodes_that_fit(block: IPv4Network) -> int:
    """How many nodes a private subnet has addresses for."""
    return max(0, block.num_addresses - RESERVED_ADDRESSES) // contract.ADDRESSES_PER_NODE
