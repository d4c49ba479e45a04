"""What the coordinator knows of one job: its limits, members and worlds, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Phase(StrEnum):
    WAITING = "waiting"
    """No world trains: too few members are ready, or the last world is still being left."""
    FORMING = "forming"
    """The next number is being made durable."""
    RUNNING = "running"
    DRAINING = "draining"
    """The world was asked to stop at a common step and save."""
    CLOSED = "closed"


class MemberState(StrEnum):
    STARTING = "starting"
    """Connected; its ranks cannot enter a world yet."""
    READY = "ready"
    """Can enter the next world at once."""
    ACTIVE = "active"
    """In the current world, or still leaving the last one."""
    DRAINED = "drained"
    """Has stopped in the current world, at the agreed step; about to be ready."""
    FINISHED = "finished"
    """Its processes exited with 0 after training was done."""


class Reason(StrEnum):
    """Why a world ended."""

    NOTICE = "notice"
    GROWTH = "growth"
    LIMITS = "limits"
    RENUMBERED = "renumbered"
    """The output held checkpoints of a world with a higher number."""
    LOSS = "loss"
    FAILURE = "failure"
    STALL = "stall"
    """It did no step any more; counts as a failure."""
    FINISHED = "finished"


class Cause(IntEnum):
    """How directly a failure's message explains why a world failed, from least to most."""

    SYMPTOM = 0
    """A collective failed, as it does on every rank that has lost a peer."""
    DESERTED = 1
    """A rank returned from training while others trained on."""
    EXIT = 2
    """A process ended without an error report: a signal, an exit code."""
    ERROR = 3
    """A process reported the exception that ended it."""


@dataclass(frozen=True, order=True)
class Checkpoint:
    """A committed checkpoint's identity: the world that wrote it, and its global step."""

    world: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a job allows. Sizes count agents (pods); seconds are the coordinator's own."""

    min_size: int
    max_size: int
    desired_size: int
    """Agents that are expected; the first world waits up to `gather_seconds` for them."""
    allowed_sizes: tuple[int, ...] = ()
    """If not empty, the only sizes a world may have; who is left over is a spare."""
    growth_delay_seconds: float = 30.0
    """Newcomers are gathered this long into one planned change, since each one costs a pause."""
    gather_seconds: float = 5.0
    """How long a world that could form waits for members that are still starting."""
    drain_seconds: float = 60.0
    """A planned stop that takes longer is treated as a loss: somebody hangs."""
    max_restarts: int = 3
    """Worlds that may end by a failure of the script before the job is failed."""
    leave_seconds: float = 60.0
    """Agents leave a broken world within seconds; who has not by then is waited for no more."""
    recovery_seconds: float = 10.0
    """After its own restart the coordinator waits this long for the members of a running world."""
    return_seconds: float = 5.0
    """It waits no longer than this once a majority is back: the others try twice as often."""


@dataclass(frozen=True, kw_only=True)
class Member:
    id: str
    address: str
    ranks: int
    """Training processes of this agent, one per GPU."""
    joined: int
    """Order of arrival; newcomers are ranked by it."""
    state: MemberState = MemberState.STARTING
    port: int = 0
    """Where this agent would host the next world's store."""
    survivor: bool = False
    """Its processes lived through the last world, so it can go on at once."""
    leaving_by: float | None = None
    """Deadline of a notice; a member that leaves enters no further world."""
    claim: "World | None" = None
    """The world it said it had entered when it reconnected to a coordinator that had restarted."""
    left: bool = False
    """Together with a claim: its ranks are no longer in that world."""
    finished: bool = False
    """Together with a claim: its ranks ended training in that world."""

    @property
    def is_candidate(self) -> bool:
        return self.state is MemberState.READY and self.leaving_by is None


@dataclass(frozen=True, kw_only=True)
class Seat:
    """A member's place in a published world."""

    id: str
    address: str
    ranks: int


@dataclass(frozen=True, kw_only=True)
class World:
    number: int
    seats: tuple[Seat, ...]
    """In rank order: the first one hosts the store and rank 0."""
    store_port: int
    restore: Checkpoint | None
    """Newest checkpoint that the coordinator knows to be written."""

    @property
    def size(self) -> int:
        return len(self.seats)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(seat.id for seat in self.seats)


@dataclass(frozen=True, kw_only=True)
class State:
    limits: Limits
    number: int = 0
    """Highest world number that was ever handed out."""
    phase: Phase = Phase.WAITING
    world: World | None = None
    """The world that was published last."""
    pending: World | None = None
    """The world being formed."""
    members: Mapping[str, Member] = field(default_factory=dict)
    arrivals: int = 0
    restarts: int = 0
    ending: Reason | None = None
    """Why the current world ends; None while it runs, and again once the end is settled."""
    ending_message: str = ""
    ending_cause: Cause = Cause.SYMPTOM
    """Of a failure: how directly `ending_message` explains it."""
    trained: frozenset[str] = frozenset()
    """Members of the last world in which training is done and committed."""
    finished: frozenset[str] = frozenset()
    """Members of the last world whose processes exited with 0; they may be gone by now."""
    enough_since: float | None = None
    growth_since: float | None = None
    drain_deadline: float | None = None
    recover_until: float | None = None
    majority_since: float | None = None
    """While recovering: since when a majority of the last world has been back."""
    left_by: float | None = None
    """When the members of the last world must have left it."""
    newest: Checkpoint | None = None
    outcome: str = ""
    """`succeeded` or `failed` once closed."""
    message: str = ""

    def seated(self) -> list[Member]:
        """The members of the last world that are still connected, in rank order."""
        ids = self.world.ids if self.world else ()
        return [self.members[id] for id in ids if id in self.members]
