"""What agents and coordinator say to each other: JSON objects over one websocket per agent.

`decode` ignores fields and message types that it does not know (a newer peer may send them), and
raises `ProtocolError` for anything else that is not a message.
"""

from spotrain.coordinator.protocol.coding import (
    FROM_AGENT,
    FROM_COORDINATOR,
    Ignored,
    ProtocolError,
    decode,
    encode,
)
from spotrain.coordinator.protocol.messages import (
    CheckpointInfo,
    Closed,
    Commit,
    CommitAnswer,
    Drain,
    Drained,
    Failed,
    Finished,
    FloorFound,
    FromAgent,
    FromCoordinator,
    Hello,
    Inspect,
    Inspected,
    Leaving,
    NewWorld,
    NotLeader,
    PeerReturned,
    Progress,
    RankState,
    Ready,
    Refused,
    Release,
    Restart,
    Returned,
    Saved,
    SeatInfo,
    Starting,
    Traffic,
    Trained,
    UsesSession,
    Welcome,
)

VERSION = 2
SUPPORTED = frozenset({VERSION - 1, VERSION})
"""A coordinator serves agents of its own and the previous version."""
MAX_MESSAGE_BYTES = 256 * 1024
"""Holds a world of a thousand members with the longest names and addresses, and as a claim too."""

__all__ = [
    "FROM_AGENT",
    "FROM_COORDINATOR",
    "MAX_MESSAGE_BYTES",
    "SUPPORTED",
    "VERSION",
    "CheckpointInfo",
    "Closed",
    "Commit",
    "CommitAnswer",
    "Drain",
    "Drained",
    "Failed",
    "Finished",
    "FloorFound",
    "FromAgent",
    "FromCoordinator",
    "Hello",
    "Ignored",
    "Inspect",
    "Inspected",
    "Leaving",
    "NewWorld",
    "NotLeader",
    "PeerReturned",
    "Progress",
    "ProtocolError",
    "RankState",
    "Ready",
    "Refused",
    "Release",
    "Restart",
    "Returned",
    "Saved",
    "SeatInfo",
    "Starting",
    "Traffic",
    "Trained",
    "UsesSession",
    "Welcome",
    "decode",
    "encode",
]
