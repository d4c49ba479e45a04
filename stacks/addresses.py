"""Blocks of addresses, and who may come from them; alike on every cloud. Pure."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network

from stacks.problems import Problem

PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
DOCUMENTATION = tuple(map(IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
WIDEST_PUBLIC_PREFIX = 16


def is_private(block: IPv4Network) -> bool:
    return any(block.subnet_of(private) for private in PRIVATE)


def is_example(block: IPv4Network) -> bool:
    """Whether nobody can have it (RFC 5737)."""
    return any(block.subnet_of(example) for example in DOCUMENTATION)


def nobody_connects(path: str, blocks: Sequence[IPv4Network]) -> Iterator[str]:
    """Warnings of blocks that are reserved for examples."""
    for block in blocks:
        if is_example(block):
            yield (
                f"{path}: {block} is reserved for documentation, nobody connects from it. Set your "
                "own address (curl https://checkip.amazonaws.com) before `pulumi up`."
            )


def wrong_public_blocks(
    path: str, blocks: Sequence[IPv4Network], *, cloud: str, instead: str
) -> Iterator[Problem]:
    """Blocks from which a public endpoint must not be reached. `instead`: the other way in."""
    for index, block in enumerate(blocks):
        if block.prefixlen < WIDEST_PUBLIC_PREFIX or is_private(block):
            yield Problem(
                path=f"{path}[{index}]",
                value=block,
                rule=f"a public block of /{WIDEST_PUBLIC_PREFIX} or narrower, never 0.0.0.0/0",
                reason="a wide block opens the API to the world, and nobody arrives at a public "
                "endpoint from a private address",
                next_step=f"name your office's or runner's own addresses, or use {instead}",
            )
        if any(block.overlaps(other) for other in blocks[:index]):
            yield Problem(
                path=f"{path}[{index}]",
                value=block,
                rule="no overlap with another entry",
                reason=f"{cloud} refuses it, and it hides which entry lets somebody in",
                next_step="keep the narrower entry that you mean",
            )
