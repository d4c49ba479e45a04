"""An ElasticJob's status: what was observed of it, and all that a restart must not forget.

The controller keeps no memory of its own. What it must remember between two looks at the cluster
(which failures it has counted, which place it chose) stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

from spotrain import contract
from spotrain.controller import states
from spotrain.job import place_of
from spotrain.ledger.account import Account
from spotrain.ledger.entries import WorldEntry

CREATED: Final = states.CREATED
RUNNING: Final = states.RUNNING
RESTARTING: Final = states.RESTARTING
SUSPENDED: Final = states.SUSPENDED
BUDGET_EXCEEDED: Final = states.BUDGET_EXCEEDED
SUCCEEDED: Final = states.SUCCEEDED
FAILED: Final = states.FAILED
PENDING: Final = states.PENDING
NO_PROCESS: Final = "NoProcess"
"""Reason of Running and Suspended for a job of one machine that no process runs there."""


class _Part:
    """A mapping of the status; fields of other writers and of older versions pass unread."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="ignore"
    )


@dataclass(frozen=True)
class Condition(_Part):
    """As metav1.Condition; at most one of each type."""

    type: str
    status: str
    """"True" or "False"."""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


@dataclass(frozen=True)
class ReplicaStatus(_Part):
    active: int = 0
    """Pods that are pending or running and not on their way out."""
    ready: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True)
class OfferStatus(_Part):
    """The place to which the job's pods are pinned."""

    pool: str
    zone: str
    since: datetime | None = None
    waiting_since: datetime | None = None
    """Since when the clock of moveAfterSeconds runs; None: it stands still."""
    waited_seconds: float = 0
    """How long it had run before that."""

    @property
    def place(self) -> str:
        return place_of(self.pool, self.zone)


@dataclass(frozen=True)
class PastOffer(_Part):
    """A place that the job has left."""

    pool: str
    zone: str
    until: datetime
    """When it was left."""
    reason: str
    message: str = ""
    since: datetime | None = None
    retry_at: datetime | None = None
    """Set for a place that failed: it is not tried again before."""

    @property
    def place(self) -> str:
        return place_of(self.pool, self.zone)


@dataclass(frozen=True)
class WorldStatus(_Part):
    """The world that trains now, as the coordinator last told."""

    number: int
    size: int
    since: datetime
    step: int
    """The step at which this world was first seen."""
    steps_per_second: float | None = None
    """Of its own steps; None until it has done two, and when it is over."""


@dataclass(frozen=True)
class Progress(_Part):
    """How far training was at a moment; refreshed every 15 s at most."""

    step: int
    at: datetime
    metrics: Mapping[str, float] | None = None
    """What the script told with it, a few finite numbers by name; None: nothing."""
    steps_left: int | None = None
    """To the end of training, in a world of the present size; None: the script does not tell."""


@dataclass(frozen=True)
class Restarts(_Part):
    failures: int = 0
    """Failures of the training itself; these alone use up the backoff limit."""
    disruptions: int = 0
    """Workers taken away: nodes reclaimed or drained, preemption, kills."""
    growths: int = 0
    """Worlds larger than the one before."""
    in_place: int = 0
    """Failures and stalls that the coordinator has answered with a restart inside the pods."""


@dataclass(frozen=True)
class FailureMark(_Part):
    """The last failure that was counted, and how many came without a healthy time between."""

    at: datetime
    streak: int


@dataclass(frozen=True)
class Stall(_Part):
    """A world that was restarted because it no longer did any step."""

    world: int
    step: int
    at: datetime
    message: str = ""
    """Which ranks held it up, once the coordinator has found out."""


@dataclass(frozen=True)
class Disruption(_Part):
    """The last worker that was taken away; peers that fall right after it fell with it."""

    pod: str
    node: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class JobStatus(_Part):
    state: str = PENDING
    """One word for people: the condition that matters most."""
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0
    start_time: datetime | None = None
    completion_time: datetime | None = None
    replica_statuses: Mapping[str, ReplicaStatus] = field(default_factory=dict)
    selector: str = ""
    """Label selector of the pods, for the scale subresource."""
    offer: OfferStatus | None = None
    offer_history: tuple[PastOffer, ...] = ()
    """Places that were left, the last one first; bounded, but no resting one is forgotten."""
    world: WorldStatus | None = None
    recorded_world: int = 0
    """Highest world number ever handed out; its world may not be published yet."""
    progress: Progress | None = None
    restarts: Restarts = Restarts()
    attempt: int = 0
    """Rises with every resumption; an external rendezvous is never met twice."""
    last_failure: FailureMark | None = None
    last_stall: Stall | None = None
    last_disruption: Disruption | None = None
    counted_pods: tuple[str, ...] = ()
    """Uids of pods whose end was counted already and that are still there."""
    history: tuple[WorldEntry, ...] = ()
    """The newest worlds, oldest first."""
    ledger: Account | None = None
    """What the job took and cost; None: it was not looked at yet."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """What other writers keep in the status, handed on untouched."""

    @property
    def workers(self) -> ReplicaStatus:
        return self.replica_statuses.get(contract.WORKER, ReplicaStatus())

    @property
    def finished(self) -> bool:
        return self.is_true(SUCCEEDED) or self.is_true(FAILED)

    def condition(self, kind: str) -> Condition | None:
        return next((c for c in self.conditions if c.type == kind), None)

    def is_true(self, kind: str) -> bool:
        found = self.condition(kind)
        return found is not None and found.status == "True"

    def to_document(self) -> dict[str, Any]:
        """The status as the API server keeps it."""
        document: dict[str, Any] = _codec().dump_python(
            self, mode="json", by_alias=True, exclude_none=True, exclude={"others"}
        )
        return {**self.others, **document}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> "JobStatus":
        """A status as stored, upstream's old one too; an absent one is that of a new job."""
        known = {to_camel(item.name) for item in fields(cls)} - {"others"}
        kept = {key: value for key, value in (document or {}).items() if key not in known}
        own = {key: value for key, value in (document or {}).items() if key in known}
        return _codec().validate_python({**own, "others": kept}, by_alias=True)


@cache
def _codec() -> TypeAdapter[JobStatus]:
    return TypeAdapter(JobStatus)
