"""What placement rests on beside the job's own pods: prices, other jobs, the autoscaler's word."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from spotrain.job import Price, Terms
from spotrain.job.terms import UNKNOWN

LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class ScaleUp:
    """The last that the cluster-autoscaler said of a pod."""

    kind: Literal["ordered", "failed", "full"]
    """ordered: a node is coming; failed: none can be had; full: the group is at its limit."""
    message: str
    at: datetime


@dataclass(frozen=True)
class Claim:
    """What one job holds of a place, and what it needs there. Other jobs see no more of it."""

    job: str
    """<namespace>/<name>/<uid>."""
    place: str
    """Its offer, as `Offer.place`; empty: the scheduler decides."""
    researcher: str
    priority: int
    """Higher goes before lower."""
    since: datetime
    """When the job was made."""
    gpus_per_worker: int
    started: bool
    """Has it trained before? An interrupted job keeps its turn."""
    least: int
    """Workers without which it cannot train; 0 for a job that wants none now."""
    housed: int
    """Workers that have a node."""
    held: int
    """Pods there are, with a node or waiting for one, leaving ones too."""
    wanted: int = 0
    """Workers that it would have if nobody else were there."""
    starved: bool = False
    """Has the autoscaler said that no node comes for one of its pods?"""
    sweep: str = ""
    """<namespace>/<sweep>; empty: it belongs to none."""

    @property
    def is_waiting(self) -> bool:
        return self.housed < self.least

    @property
    def wants_more(self) -> bool:
        return self.housed < max(self.least, self.wanted)

    def goes_before(self, other: "Claim") -> bool:
        """Whose turn is it: the more important job's, the interrupted one's, the older one's."""
        return self._turn < other._turn

    @property
    def _turn(self) -> tuple[int, bool, datetime, str]:
        return -self.priority, not self.started, self.since, self.job


@dataclass(frozen=True)
class Board:
    """Nothing on it is the normal case on one machine, where nobody else runs jobs."""

    prices: tuple[Price, ...] = ()
    terms: Terms = UNKNOWN
    scale_ups: Mapping[str, ScaleUp] = field(default_factory=dict)
    """Pod uid -> what the autoscaler said of it."""
    claims: tuple[Claim, ...] = ()
    """Of every other job."""
    since: datetime = LONG_AGO
    """When this job was made."""
    max_gpus: int | None = None
    """Most GPUs that one researcher's jobs hold together; None: any number."""
    refusal: str = ""
    """Why the API server took no new pod when it was last asked; empty: it did."""
