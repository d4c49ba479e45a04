"""What one job cost, what of its GPU hours was of use, and what it saved against on demand."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spotrain.job import StoragePrices
from spotrain.ledger.attribution import Use
from spotrain.ledger.cost import Amount, Line, Saving, grouped, total
from spotrain.ledger.entries import BackOffEntry, PauseEntry, Place, StayEntry, WorldEntry
from spotrain.ledger.prices import PriceBook
from spotrain.ledger.time_split import Span, Split, split_time, training_time
from spotrain.ledger.traffic import Traffic, traffic_of

_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Hours:
    """Of GPUs, or of nodes: what became of those that are paid for."""

    useful: float
    """Steps that ended up in the model."""
    lost: float
    """Held by workers that met, loaded, stood still or did steps that had to be done again."""
    boot: float
    idle: float
    """Between the job's last pod on a node and the node's end, or the next job."""


@dataclass(frozen=True, kw_only=True)
class JobCost:
    lines: tuple[Line, ...]
    amount: Amount
    saving: Saving
    gpu_hours: Hours
    node_hours: Hours
    split: Split
    """Of the job's own time, whatever was alive in it."""
    traffic: Traffic
    """Between its pods and the shared volume."""
    traffic_usd: float | None
    """Of what is known of it; None: nothing is, or nobody has named a price."""

    @property
    def usd(self) -> float:
        """All that is known of what the job cost: its nodes, and its traffic."""
        return self.amount.usd + (self.traffic_usd or 0.0)


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is known of a job."""

    worlds: Sequence[WorldEntry]
    stays: Sequence[StayEntry]
    pauses: Sequence[PauseEntry]
    back_offs: Sequence[BackOffEntry] = ()
    life: Span
    """From its creation to its end, or to now."""
    min_workers: int


def job_cost(
    lines: Iterable[Line],
    record: Record,
    book: PriceBook,
    storage: StoragePrices | None = None,
) -> JobCost:
    """Judge the lines of one job, as `bill` makes them.

    On demand, the useful seconds of each world would take as long, with as many workers, at the
    list price of where they were. A worker's part of a node is what the job's pods there held on
    average. Of the traffic, on demand would have the part that useful hours are of those held.
    """
    kept = tuple(lines)
    useful, on_demand_usd = _useful(kept, record, book)
    by_use = grouped(kept, lambda line: line.use)

    def hours(of: str) -> Hours:
        had = {use: float(getattr(by_use.get(use, Amount()), of)) for use in Use}
        good = min(float(getattr(useful, of)), had[Use.HELD])  # clocks differ by a little
        lost = had[Use.HELD] - good
        return Hours(useful=good, lost=lost, boot=had[Use.BOOT], idle=had[Use.IDLE])

    amount, node_hours = total(kept), hours("node_hours")
    traffic = traffic_of(record.stays)
    traffic_usd = traffic.usd(storage)
    moved = (traffic_usd or 0.0) * _share(node_hours.useful, of=node_hours.useful + node_hours.lost)
    return JobCost(
        lines=kept,
        amount=amount,
        saving=Saving(amount.usd + (traffic_usd or 0.0), on_demand_usd + moved),
        gpu_hours=hours("gpu_hours"),
        node_hours=node_hours,
        split=split_time(
            record.worlds,
            record.stays,
            record.pauses,
            record.back_offs,
            life=record.life,
            min_workers=record.min_workers,
        ),
        traffic=traffic,
        traffic_usd=traffic_usd,
    )


def _share(part: float, *, of: float) -> float:
    return part / of if of > 0 else 0.0


class _Offer(NamedTuple):
    """Places of one price list; the types of a pool have one."""

    pool: str
    zone: str
    capacity: str


def _offer(place: Place) -> _Offer:
    return _Offer(place.pool, place.zone, place.capacity)


def _useful(lines: Sequence[Line], record: Record, book: PriceBook) -> tuple[Amount, float]:
    """Node and GPU hours whose work was kept, and what these cost on demand."""
    worker = _per_worker_hour(lines, record)
    useful, usd = Amount(), 0.0
    splits = training_time(record.worlds, record.pauses, life=record.life)
    for world, split in zip(record.worlds, splits, strict=True):
        hours = split.useful_seconds / _SECONDS_PER_HOUR
        for members in world.members:
            each = worker.get(_offer(members.place), Amount())
            share = Amount(
                node_hours=hours * members.workers * each.node_hours,
                gpu_hours=hours * members.workers * each.gpu_hours,
            )
            useful += share
            usd += share.node_hours * book.list_usd_per_hour(members.place)
    return useful, usd


def _per_worker_hour(lines: Sequence[Line], record: Record) -> Mapping[_Offer, Amount]:
    """What an hour of one worker held, by where."""
    stayed: dict[_Offer, float] = defaultdict(float)
    for stay in {stay.uid: stay for stay in record.stays}.values():
        if stay.place and stay.scheduled_at:
            own = Span(stay.scheduled_at, stay.ended_at or record.life.until)
            stayed[_offer(stay.place)] += own.seconds / _SECONDS_PER_HOUR
    held = grouped(
        (line for line in lines if line.use is Use.HELD), lambda line: _offer(line.place)
    )
    return {
        offer: Amount(
            node_hours=amount.node_hours / stayed[offer],
            gpu_hours=amount.gpu_hours / stayed[offer],
        )
        for offer, amount in held.items()
        if stayed[offer] > 0
    }
