"""Why a peer is not served: in words for the peer, and as one of few causes for the metrics."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """Fixed here, since what a peer says must not become the name of a series.

    The first ones are the limits of `ServerLimits` that a peer went beyond.
    """

    CONNECTIONS = "connections"
    STRANGERS = "strangers"
    STRANGERS_PER_ADDRESS = "strangers_per_address"
    VISITS = "visits"
    HELLO_SECONDS = "hello_seconds"
    FRAMES = "frames"
    BYTES = "bytes"
    OUTBOX_BYTES = "outbox_bytes"
    MEMBERS = "members"
    VERSION = "version"
    """Of the protocol."""
    JOB = "job"
    """Not known here."""
    RANKS = "ranks"
    """More, or fewer, than an agent has."""
    TOKEN = "token"
    """Not the token of that pod of that job."""
    REVIEW = "review"
    """The API server could not be asked about the token; the agent comes again."""
    PROTOCOL = "protocol"
    """Not a message, or not one that may come now."""


@dataclass(frozen=True)
class Refusal:
    cause: Cause
    words: str
    is_final: bool = True
    """Trying again will not help."""


Count = Callable[[Cause], None]
"""Called once for each connection that is refused or cut off."""


def count_nothing(_cause: Cause) -> None:
    """Where nobody reads metrics."""
