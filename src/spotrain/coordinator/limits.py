"""How much of the coordinator any one peer can use up: nobody may starve the others."""

from dataclasses import dataclass
from typing import Final

MAX_MEMBERS: Final = 1000
"""Agents of one job: the most that an ElasticJob may ask for, and that MAX_MESSAGE_BYTES holds."""


@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """Of one listening process. What goes beyond is refused with its reason.

    An address is that of a pod: behind network policies and without host network, pods cannot
    choose theirs. A stranger is a connection whose hello has not been accepted (yet).
    """

    connections: int = 4096
    """Together; each takes a file descriptor, and some 60 KiB with TLS."""
    strangers: int = 1024
    """Together, so that those who say nothing leave room for agents that are known."""
    strangers_per_address: int = 32
    """A pod has one agent, and a reconnecting one leaves no more than a few dead tries behind."""
    visits_per_second: float = 8.0
    """New connections of one address in the long run; an agent's retries stay below 2 a second.
    Each may cost a review of its token by the API server."""
    visits: float = 64.0
    """New connections of one address at once."""
    hello_seconds: float = 10.0
    """A connection that has not said hello by then is closed."""
    frames_per_second: float = 50.0
    """Of one connection in the long run; an agent sends about 5: reports, pings and pongs."""
    frames: float = 500.0
    """Of one connection at once."""
    bytes_per_second: float = 64 * 1024
    """Of one connection in the long run; an agent sends about 1 KiB a second."""
    bytes: float = 1024 * 1024
    """Of one connection at once: some hellos of the largest world."""
    outbox_bytes: int = 2 * 1024 * 1024
    """Waiting for one agent, which does not read: some worlds of the largest size."""
    members: int = MAX_MEMBERS
    """Agents of one job."""


DEFAULT: Final = ServerLimits()
