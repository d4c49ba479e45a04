"""A job's account as its status keeps it: the newest entries, and the sums of all there were."""

from dataclasses import dataclass
from datetime import datetime

from spotrain.ledger.entries import (
    BackOffEntry,
    CamelCase,
    PauseEntry,
    Place,
    StayEntry,
    WorldEntry,
)
from spotrain.ledger.time_split import NOTHING, NOTHING_LOST, LostSeconds, Split
from spotrain.ledger.traffic import NO_TRAFFIC, Traffic


@dataclass(frozen=True, kw_only=True)
class PlaceSeconds(CamelCase):
    """What a job held of the nodes of one place."""

    place: Place
    node_seconds: float = 0.0
    """Of whole nodes: half of a node's GPUs for an hour are 1800."""
    gpu_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class PlaceTotal(PlaceSeconds):
    estimated_usd: float = 0.0
    list_usd: float = 0.0
    """What the same node seconds cost on demand, by the list."""


@dataclass(frozen=True, kw_only=True)
class Totals(CamelCase):
    """Of the whole job, up to a moment."""

    until: datetime
    through: int = 0
    """The newest world that has ended; no later one changes what it amounts to but by a rollback
    beyond it."""
    wanted_seconds: float = 0.0
    useful_seconds: float = 0.0
    lost_seconds: LostSeconds = NOTHING_LOST
    places: tuple[PlaceTotal, ...] = ()
    traffic: Traffic = NO_TRAFFIC
    """Between its pods and the shared volume."""
    traffic_usd: float | None = None
    """Of what is known of it; None: nothing is, or nobody has named a price."""
    estimated_usd: float = 0.0
    """Of its nodes, and of its traffic as far as that is known."""
    list_usd: float = 0.0
    """What the same node seconds cost on demand, by the list."""


@dataclass(frozen=True, kw_only=True)
class Settled(CamelCase):
    """What entries amounted to that are no longer listed."""

    until: datetime
    """Time outside of training is settled up to here."""
    split: Split = NOTHING
    places: tuple[PlaceSeconds, ...] = ()
    places_until: datetime | None = None
    """What was held is settled up to here, of stays that are still listed too: who shared a node is
    not known any more once one of them is forgotten. None: of nothing yet."""
    traffic: Traffic = NO_TRAFFIC


@dataclass(frozen=True, kw_only=True)
class Account(CamelCase):
    """`status.ledger`; the worlds stand beside it, in `status.history`."""

    since: datetime
    """From when on the job wanted to run: its creation."""
    stays: tuple[StayEntry, ...] = ()
    pauses: tuple[PauseEntry, ...] = ()
    back_offs: tuple[BackOffEntry, ...] = ()
    totals: Totals | None = None
    settled: Settled | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """An account and the worlds beside it."""

    account: Account
    worlds: tuple[WorldEntry, ...] = ()
