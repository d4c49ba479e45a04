"""Addresses of people in a stack file; alike on every cloud. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

EXAMPLE = re.compile(r"[@.](example\.(com|net|org)|example|invalid|localhost|test)$")
"""Domains that nobody can have (RFC 2606)."""


def example_addresses(told: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A warning for each address that is reserved for examples. Takes path -> addresses."""
    for path, addresses in told.items():
        for address in addresses:
            if EXAMPLE.search(address.lower()):
                yield (
                    f"{path}: {address} is an example, nobody reads what is sent there. "
                    "Set your own address."
                )
