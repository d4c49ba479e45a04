"""What happens to a job (events) and what is to be done about it (commands)."""

from dataclasses import dataclass

from spotrain.worlds.state import Cause, Checkpoint, Limits, Reason, State, World

# --- Events -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Joined:
    """An agent connected; `claim` is the world that its ranks have entered last, if any."""

    id: str
    address: str
    ranks: int
    claim: World | None = None
    finished: bool = False
    """Its ranks have ended training in that world."""
    left: bool = False
    """Its ranks have stopped or broken off in that world: they are in none now."""


@dataclass(frozen=True, kw_only=True)
class Starting:
    """The member's ranks are being started anew: nobody waits for it to leave the last world."""

    id: str
    world: int | None = None
    """The last world it has entered: what was said before it heard of a newer one is stale."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The member can enter the next world at once and would host its store at `port`."""

    id: str
    port: int
    survivor: bool = False
    world: int | None = None
    """The last world it has entered, as in `Starting`."""
    floor: int = 0
    """The newest world in its output: numbers must rise above it."""


@dataclass(frozen=True, kw_only=True)
class FloorFound:
    """The output already holds checkpoints of world `number` (an earlier job's, say).

    Worlds must be numbered above it, or the older job's checkpoints would count as newer.
    """

    number: int


@dataclass(frozen=True, kw_only=True)
class Leaving:
    id: str
    seconds: float
    """Until the agent is killed."""


@dataclass(frozen=True, kw_only=True)
class Drained:
    """All ranks of the member stopped at the agreed step."""

    id: str
    world: int


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Connection gone, ping expired, or the pod is known to be gone."""

    id: str


@dataclass(frozen=True, kw_only=True)
class Failed:
    """The member's ranks broke off. `hard`: a process ended; else only its collectives failed."""

    id: str
    world: int
    hard: bool
    message: str = ""
    excused: bool = False
    """The platform's fault, not the script's: it uses up no restart."""
    cause: Cause = Cause.SYMPTOM
    """How directly `message` explains the failure; the best explanation becomes the verdict."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """Training has returned on all ranks of the member, and the last state is committed.

    The processes may still run what follows in the script; no further step is expected of them.
    """

    id: str
    world: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """All processes of the member exited with 0 after training was done."""

    id: str
    world: int


@dataclass(frozen=True, kw_only=True)
class CommitAsked:
    id: str
    checkpoint: Checkpoint


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A checkpoint's manifest was published."""

    checkpoint: Checkpoint


@dataclass(frozen=True, kw_only=True)
class Recorded:
    number: int


@dataclass(frozen=True, kw_only=True)
class Stalled:
    """The controller's word that `world` does no step any more: somebody hangs."""

    world: int
    message: str


@dataclass(frozen=True, kw_only=True)
class LimitsChanged:
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class Tick:
    """Time has passed."""


Event = (
    Joined
    | Starting
    | Ready
    | FloorFound
    | Leaving
    | Drained
    | Lost
    | Failed
    | Trained
    | Finished
    | CommitAsked
    | Saved
    | Recorded
    | Stalled
    | LimitsChanged
    | Tick
)

# --- Commands -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Record:
    """Make `number` durable, then answer with `Recorded`."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Publish:
    world: World


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """For the ledger: this world was already training when the coordinator came (back)."""

    world: World


@dataclass(frozen=True, kw_only=True)
class AskDrain:
    world: int
    ids: tuple[str, ...]
    seconds: float
    reason: Reason


@dataclass(frozen=True, kw_only=True)
class Restart:
    """These members must leave `world` at once and get ready for the next one."""

    world: int
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Release:
    """These members are on notice and no longer needed: all of `world` has stopped."""

    world: int
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerCommit:
    id: str
    checkpoint: Checkpoint
    accepted: bool | None
    """None: not known yet, since a coordinator that has restarted does not know the world."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """For the ledger: `world` no longer trains. Repeated if the reason becomes a graver one."""

    world: int
    reason: Reason
    message: str = ""
    """What is known beyond the reason: the failure's words, who is gone, which ranks hung."""


@dataclass(frozen=True, kw_only=True)
class Close:
    outcome: str
    message: str


Command = Record | Publish | Adopted | AskDrain | Restart | Release | AnswerCommit | Ended | Close

Step = tuple[State, list[Command]]
"""A job's next state, and what is to be done."""
