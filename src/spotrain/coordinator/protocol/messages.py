"""The messages: frozen dataclasses, whose names in snake_case are the `type` on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SeatInfo:
    id: str
    address: str
    ranks: int


@dataclass(frozen=True, kw_only=True)
class CheckpointInfo:
    world: int
    step: int


# --- Both ways --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NewWorld:
    """Coordinator: enter this world. Agent, within its hello: this is the last world I entered."""

    number: int
    seats: tuple[SeatInfo, ...]
    store_port: int
    restore: CheckpointInfo | None = None


# --- From the agent ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Hello:
    version: int
    job: str
    pod: str
    address: str
    ranks: int
    uses_session: bool | None = None
    """Whether the script speaks through the training library; None: not known yet."""
    world: NewWorld | None = None
    """On reconnection: the world that the ranks are in; since version 2 also one they have left."""
    left: bool = False
    """Together with `world`: its ranks have stopped or broken off in it. Since version 2."""
    finished: bool = False
    """Together with `world`: its ranks have ended training in it."""
    leaving_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class UsesSession:
    value: bool


@dataclass(frozen=True, kw_only=True)
class Starting:
    world: int = 0
    """The last world that the agent has heard of; what it says of an older one is stale."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    port: int
    survivor: bool = False
    world: int = 0
    """As in `Starting`."""
    floor: int = 0
    """The newest world that has published a checkpoint in the output."""


@dataclass(frozen=True, kw_only=True)
class FloorFound:
    number: int


@dataclass(frozen=True, kw_only=True)
class Leaving:
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Drained:
    world: int


@dataclass(frozen=True, kw_only=True)
class Failed:
    world: int
    hard: bool
    message: str = ""
    excused: bool = False
    cause: str = ""
    """Name of a `worlds.Cause` in lower case; empty: not said, as by an older agent."""


@dataclass(frozen=True, kw_only=True)
class Returned:
    """Training has returned on one rank, which takes part in no further step."""

    world: int
    rank: int
    step: int
    """Global steps done."""
    collectives: int
    """Collective calls of the default process group that the rank has issued since that step."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """Training has returned on all ranks of the agent, and the last state is committed."""

    world: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """All ranks of the agent exited with 0 after training was done."""

    world: int


@dataclass(frozen=True, kw_only=True)
class Commit:
    world: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Saved:
    world: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """State of training at rank 0 of a world, twice a second at most, and at its first step."""

    world: int
    step: int
    """Global steps done, over all worlds."""
    epoch: int
    samples: int
    """Samples of one global step: those of rank 0 times the ranks."""
    steps_left: int | None = None
    """To the end of training, in a world of this size; None: nobody can say."""
    restored_step: int | None = None
    """Only at the first step of a world: the step it started from."""
    previous_step: int | None = None
    """Only there: the last step this rank did in the world before, if it was in it."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    data_wait_seconds: float = 0.0
    """Since this world's first step, at rank 0: waiting for the data loader."""
    save_stall_seconds: float = 0.0
    """Likewise: standing still for checkpoints."""


@dataclass(frozen=True, kw_only=True)
class RankState:
    """How far a rank has come in a world that does no step any more."""

    local_rank: int
    step: int | None = None
    """Global steps done; None: it has not begun to train in this world."""
    batches: int = 0
    """Taken from the data loader since that step."""
    place: str = ""
    """The line that its main thread is in, or why that cannot be told."""
    stacks: str = ""
    """Of all its threads, the main one first; cut short to fit into a message."""


@dataclass(frozen=True, kw_only=True)
class Inspected:
    world: int
    ranks: tuple[RankState, ...]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What the pod has moved between itself and the shared volume since its agent began. Only where
    that can be told from what other pods of the node have moved."""

    read_bytes: int
    written_bytes: int


# --- From the coordinator ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Welcome:
    version: int
    uses_session: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Drain:
    world: int
    seconds: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class Restart:
    world: int


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """The world does no step any more and is about to be ended: say where its ranks are."""

    world: int


@dataclass(frozen=True, kw_only=True)
class Release:
    """To a member on notice: every member has left the world, nothing needs this one any more."""

    world: int


@dataclass(frozen=True, kw_only=True)
class PeerReturned:
    """The fields of `Returned`, to the other members of the world."""

    world: int
    rank: int
    step: int
    collectives: int


@dataclass(frozen=True, kw_only=True)
class CommitAnswer:
    world: int
    step: int
    accepted: bool | None
    """None: not known yet, ask again. Since version 2; agents of version 1 get no answer then."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    outcome: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The coordinator does not want this agent."""

    reason: str
    final: bool = True
    """Trying again will not help."""


@dataclass(frozen=True, kw_only=True)
class NotLeader:
    """Another coordinator forms the worlds now: try the next address. Nothing is wrong."""


FromAgent = (
    Hello
    | UsesSession
    | Starting
    | Ready
    | FloorFound
    | Leaving
    | Drained
    | Failed
    | Returned
    | Trained
    | Finished
    | Commit
    | Saved
    | Progress
    | Inspected
    | Traffic
)
FromCoordinator = (
    Welcome
    | NewWorld
    | Drain
    | Inspect
    | Restart
    | Release
    | PeerReturned
    | CommitAnswer
    | Closed
    | Refused
    | NotLeader
)
