"""The ledger's entries: what each world of a job did, and what each of its pods held of a node.

The controller keeps the newest of them in the job's status, and the archive all of them on the
volume, one JSON object a line. An entry is known by its `key`: the last one written under a key
counts, so that writing it once more changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, TypeAdapter
from pydantic.alias_generators import to_camel


class CamelCase:
    """As a mapping in camelCase; fields of newer versions pass unread."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="ignore"
    )


@dataclass(frozen=True, kw_only=True)
class Place(CamelCase):
    """Where nodes of one price are."""

    pool: str
    zone: str
    capacity: str
    """`contract.CAPACITY_SPOT` or `contract.CAPACITY_ON_DEMAND`."""
    instance_type: str = ""
    """Empty: nobody rents these nodes by type, or it was not seen."""


@dataclass(frozen=True, kw_only=True)
class Members(CamelCase):
    """How many workers of a world ran at a place."""

    place: Place
    workers: int


@dataclass(frozen=True, kw_only=True)
class WorldEntry(CamelCase):
    """One world. Times are of the wall clock, steps are global, a None was not reached."""

    kind: Literal["world"] = "world"
    number: int
    size: int
    """Workers."""
    members: tuple[Members, ...] = ()
    published_at: datetime
    first_step_at: datetime | None = None
    """When its first own step was done."""
    last_step_at: datetime | None = None
    restored_step: int | None = None
    """The step that it started from."""
    last_step: int | None = None
    committed_step: int | None = None
    """The newest step of it that a published checkpoint holds."""
    samples_per_step: int = 0
    ended_at: datetime | None = None
    """When its end was decided; None: it is the present one."""
    reason: str = ""
    """`worlds.Reason`: why it ended."""
    message: str = ""
    pause_seconds: float | None = None
    """From the decision to end it to the first step of the next world."""
    steps_lost: int | None = None
    """Steps done in it that the next one had to do again."""
    save_stall_seconds: float = 0.0
    """Training stood still for checkpoints so long, between its first and last step."""
    data_wait_seconds: float = 0.0
    """Rank 0 waited so long for its data loader, between its first and last step."""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, str(self.number)

    @property
    def steps_per_second(self) -> float | None:
        """From its first step on; None until it has done two."""
        if self.first_step_at is None or self.last_step_at is None or self.last_step is None:
            return None
        seconds = (self.last_step_at - self.first_step_at).total_seconds()
        steps = self.last_step - (self.restored_step or 0) - 1
        return steps / seconds if seconds > 0 and steps > 0 else None


@dataclass(frozen=True, kw_only=True)
class StayEntry(CamelCase):
    """One pod of the job: what it waited for, and what it held of a node how long."""

    kind: Literal["stay"] = "stay"
    pod: str
    uid: str
    gpus: int
    """That it asks for."""
    created_at: datetime
    scheduled_at: datetime | None = None
    """When it got its node; None: it never did."""
    started_at: datetime | None = None
    """When its training container ran: the image was there, the volumes were mounted."""
    ended_at: datetime | None = None
    """When it held nothing any more; None: it still does."""
    reason: str = ""
    """Why it ended, in the controller's word."""
    node: str = ""
    node_gpus: int = 0
    """That the node has; with `gpus` the share of it that this pod held."""
    node_created_at: datetime | None = None
    place: Place | None = None
    """None: it never got a node."""
    read_bytes: int | None = None
    """From the shared volume, since its agent began; None: nobody can tell."""
    written_bytes: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.uid


@dataclass(frozen=True, kw_only=True)
class PauseEntry(CamelCase):
    """The job wanted no nodes: it was suspended. Its time counts neither as used nor as lost."""

    kind: Literal["pause"] = "pause"
    since: datetime
    until: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.since.isoformat()


@dataclass(frozen=True, kw_only=True)
class BackOffEntry(CamelCase):
    """A failure of the training was counted, and its next try had to wait. It is written down when
    it begins; what comes in between, such as the job's end, cuts it short."""

    kind: Literal["back-off"] = "back-off"
    since: datetime
    until: datetime

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.since.isoformat()


@dataclass(frozen=True, kw_only=True)
class MetricsEntry(CamelCase):
    """What the script told of its training (loss, accuracy) at a moment. Kept by the archive."""

    kind: Literal["metrics"] = "metrics"
    at: datetime
    step: int
    values: Mapping[str, float]
    """Finite numbers by name."""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.at.isoformat()


@dataclass(frozen=True, kw_only=True)
class NodeEntry(CamelCase):
    """A node's life, whoever used it. Kept by the archive only, beside the jobs' ledgers."""

    kind: Literal["node"] = "node"
    name: str
    uid: str
    place: Place
    gpus: int
    created_at: datetime
    gone_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.uid


@dataclass(frozen=True, kw_only=True)
class GapEntry(CamelCase):
    """Entries that nobody has: they came and went while the archive was away."""

    kind: Literal["gap"] = "gap"
    of: str
    """`kind` of what is missing."""
    since: datetime
    until: datetime
    """What is missing happened between the two."""
    message: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, f"{self.of} {self.since.isoformat()}"


AnyEntry = WorldEntry | StayEntry | PauseEntry | BackOffEntry | MetricsEntry | NodeEntry | GapEntry
Entry = Annotated[AnyEntry, Discriminator("kind")]


def to_document(entry: AnyEntry) -> dict[str, Any]:
    """The entry as JSON holds it."""
    document: dict[str, Any] = _codec().dump_python(
        entry, mode="json", by_alias=True, exclude_none=True
    )
    return document


def from_document(document: Any) -> AnyEntry:
    """Raises ValueError (pydantic's) where `document` is no entry."""
    return _codec().validate_python(document, by_alias=True)


@cache
def _codec() -> TypeAdapter[AnyEntry]:
    return TypeAdapter(Entry)
