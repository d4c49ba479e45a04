"""What agents and coordinator say to each other: JSON objects over one websocket per agent.

`decode` ignores fields and message types that it does not know (a newer peer may send them), and
raises `ProtocolError` for anything else that is not a message.
"""

from spotrain.coordinator.protocol.coding import (
    FROM_AGENT,
    FROM_COORDINATOR,
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
    Progress,
    RankState,
    Ready,
    Refused,
    Release,
    Restart,
    Saved,
    SeatInfo,
    Starting,
    UsesSession,
    Welcome,
)

VERSION = 1
SUPPORTED = frozenset({1})
"""A coordinator serves agents of its own and the previous version."""
MAX_MESSAGE_BYTES = 64 * 1024

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
    "Inspect",
    "Inspected",
    "Leaving",
    "NewWorld",
    "NotLeader",
    "Progress",
    "ProtocolError",
    "RankState",
    "Ready",
    "Refused",
    "Release",
    "Restart",
    "Saved",
    "SeatInfo",
    "Starting",
    "UsesSession",
    "Welcome",
    "decode",
    "encode",
]
