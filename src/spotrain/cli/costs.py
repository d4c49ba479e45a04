"""What jobs cost, worked out from the archive's ledger, the pools, and the cloud's record."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from spotrain import contract
from spotrain.archive.records import JobLedger, JobRecord, JobStay
from spotrain.clouds.history import History, Market
from spotrain.counts import count
from spotrain.job import Pool, Price, StoragePrices, Terms
from spotrain.job.terms import UNKNOWN
from spotrain.ledger.attribution import Charge, Tenant, attribute, cool_down
from spotrain.ledger.cost import Amount, Line, bill, grouped, total
from spotrain.ledger.entries import (
    BackOffEntry,
    GapEntry,
    NodeEntry,
    PauseEntry,
    StayEntry,
    WorldEntry,
)
from spotrain.ledger.job_cost import JobCost, Record, job_cost
from spotrain.ledger.prices import PriceBook, Source
from spotrain.ledger.suspensions import tell_suspensions
from spotrain.ledger.time_split import Span
from spotrain.ledger.traffic import NO_TRAFFIC

AskHistory = Callable[[Sequence[Market], datetime, datetime], History]
"""Markets, since, now -> what the cloud told."""


class Archive(Protocol):
    """The archive over HTTP, or its folder."""

    def jobs(self) -> list[JobRecord]: ...

    def ledger(self, name: str, uid: str = "") -> JobLedger: ...

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]: ...

    def stays(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[JobStay]: ...


@dataclass(frozen=True)
class Tariff:
    """All that is known of prices."""

    pools: Sequence[Pool]
    latest: Sequence[Price]
    ask_history: AskHistory
    terms: Terms = UNKNOWN
    counts_gpus: bool = True
    """False: the nodes' GPUs are on paper, as on this machine, so that only node hours are told."""


@dataclass(frozen=True, kw_only=True)
class CostOf:
    """A job, what is known of it, and what it cost."""

    ledger: JobLedger
    record: Record
    cost: JobCost

    @property
    def job(self) -> JobRecord:
        return self.ledger.job


@dataclass(frozen=True, kw_only=True)
class Costs:
    jobs: tuple[CostOf, ...]
    """Whole, from their creation on; oldest first."""
    platform: Amount
    """What no job had to pay, in the time that was asked for; nothing beside a single job."""
    notes: tuple[str, ...]
    """What a reader of the figures has to know: one sentence each."""


def cost_of_job(
    archive: Archive, tariff: Tariff, name: str, *, uid: str = "", now: datetime
) -> Costs:
    """Without a uid the newest job of that name. Raises whatever the archive does."""
    ledger = archive.ledger(name, uid)
    job = ledger.job
    until = min(now, (job.ended_at or now) + cool_down(tariff.terms))
    return _costs(archive, tariff, [ledger], since=until, until=until)


def cost_of_all(archive: Archive, tariff: Tariff, *, since: datetime, now: datetime) -> Costs:
    """Of every job that was there since then."""
    ledgers = [
        archive.ledger(job.name, job.uid)
        for job in archive.jobs()
        if job.ended_at is None or job.ended_at > since
    ]
    return _costs(archive, tariff, ledgers, since=since, until=now)


def _costs(
    archive: Archive,
    tariff: Tariff,
    ledgers: Sequence[JobLedger],
    *,
    since: datetime,
    until: datetime,
) -> Costs:
    """`since`: from when on the platform's part is counted; jobs are judged whole."""
    first = min((since, *(ledger.job.created_at for ledger in ledgers)))
    nodes = archive.nodes(first, until)
    # Whoever else was on these nodes has a share in them, from their beginning on.
    earliest = min((first, *(node.created_at for node in nodes)))
    tenants = _tenants(archive.jobs(), archive.stays(earliest, until))
    charges: dict[str | None, list[Charge]] = defaultdict(list)
    for charge in attribute(nodes, tenants, now=until, terms=tariff.terms):
        charges[charge.job].append(charge if tariff.counts_gpus else replace(charge, gpus=0))
    of_platform = [cut for each in charges[None] if (cut := _after(each, since))]
    of_jobs = [each for ledger in ledgers for each in charges[ledger.job.uid]]
    book, problem = _book(tariff, [*of_jobs, *of_platform], until)
    judged = tuple(
        CostOf(
            ledger=ledger,
            record=(record := _record(ledger, until)),
            cost=job_cost(bill(charges[ledger.job.uid], book), record, book, tariff.terms.storage),
        )
        for ledger in sorted(ledgers, key=lambda ledger: ledger.job.created_at)
    )
    platform = bill(of_platform, book)
    lines = [*(line for each in judged for line in each.cost.lines), *platform]
    unseen = {each.node for each in of_jobs} - {node.name for node in nodes}
    notes = [f"Spot prices of the past are not known: {problem}"] if problem else []
    return Costs(
        jobs=judged,
        platform=total(platform),
        notes=(
            *notes,
            *_notes(lines),
            *_uncounted(judged, tariff.terms.storage),
            *_gaps(ledgers, unseen),
        ),
    )


def _tenants(jobs: Iterable[JobRecord], stays: Iterable[JobStay]) -> Iterator[Tenant]:
    known = {job.uid: job for job in jobs}
    held: dict[str, list[StayEntry]] = defaultdict(list)
    for stay in stays:
        held[stay.job_uid].append(_closed(stay.stay, known.get(stay.job_uid)))
    for uid, own in held.items():
        job = known.get(uid)
        born = job.created_at if job else min(stay.created_at for stay in own)
        yield Tenant(job=uid, created_at=born, stays=own)


def _closed(stay: StayEntry, job: JobRecord | None) -> StayEntry:
    """A stay whose end nobody saw ended with its job's object at the latest."""
    gone_at = job.deleted_at if job else None
    return replace(stay, ended_at=gone_at) if gone_at and stay.ended_at is None else stay


def _book(tariff: Tariff, charges: Sequence[Charge], now: datetime) -> tuple[PriceBook, str]:
    """The prices of what was charged, and why the cloud's record of them lacks."""
    known = PriceBook(tariff.pools)
    spot = [each for each in charges if each.place.capacity == contract.CAPACITY_SPOT]
    markets = {
        Market(instance_type, each.place.zone)
        for each in spot
        if (instance_type := known.type_of(each.place)) and each.place.zone
    }
    if not markets:
        return PriceBook(tariff.pools, latest=tariff.latest), ""
    found = tariff.ask_history(sorted(markets), min(each.start for each in spot), now)
    book = PriceBook(tariff.pools, quotes=found.quotes, latest=tariff.latest)
    return book, found.problem


def _record(ledger: JobLedger, until: datetime) -> Record:
    entries = ledger.entries
    worlds = [entry for entry in entries if isinstance(entry, WorldEntry)]
    pauses = [entry for entry in entries if isinstance(entry, PauseEntry)]
    return Record(
        worlds=tell_suspensions(worlds, pauses),
        stays=[_closed(each, ledger.job) for each in entries if isinstance(each, StayEntry)],
        pauses=pauses,
        back_offs=[entry for entry in entries if isinstance(entry, BackOffEntry)],
        life=Span(ledger.job.created_at, ledger.job.ended_at or until),
        # An archive of an earlier version does not say: the job never trained with fewer.
        min_workers=ledger.job.min_workers or min((world.size for world in worlds), default=1),
    )


def _after(charge: Charge, since: datetime) -> Charge | None:
    """What of it came after `since`."""
    start = max(charge.start, since)
    if start >= charge.end:
        return None
    return replace(charge, start=start)


TOLD: Final[Mapping[Source, str]] = {
    Source.LATEST: "by the newest spot price, not that of the time",
    Source.TYPICAL: "by the typical spot price of when the stack was built",
    Source.NONE: "by nothing: nobody has named a price",
}


def _notes(lines: Sequence[Line]) -> Iterator[str]:
    amounts = grouped(lines, lambda line: line.source)
    for source, told in TOLD.items():
        if source in amounts:
            yield f"{amounts[source].node_hours:,.2f} node hours are priced {told}."
    hours = total(
        line
        for line in lines
        if line.source is Source.LIST and line.place.capacity == contract.CAPACITY_SPOT
    ).node_hours
    if hours:
        yield f"{hours:,.2f} node hours on spot are priced by the on-demand list price: too dear."


def _uncounted(judged: Sequence[CostOf], storage: StoragePrices | None) -> Iterator[str]:
    """Where moving bytes costs something, and nobody has counted all of them."""
    if storage is None or not (storage.read_usd_per_gb or storage.written_usd_per_gb):
        return
    traffic = sum((each.cost.traffic for each in judged), NO_TRAFFIC)
    if traffic.counted_pods < traffic.pods:
        yield (
            f"What {traffic.pods - traffic.counted_pods} of {count(traffic.pods, 'pod')} "
            "read from and wrote to the shared volume is not known, so what that cost is not in it."
        )


def _gaps(ledgers: Sequence[JobLedger], unseen: Collection[str]) -> Iterator[str]:
    if unseen:
        yield (
            f"The archive has no record of {len(unseen)} of the nodes, such as {min(unseen)}: what "
            "they cost while idle is not in it."
        )
    gaps = [entry for each in ledgers for entry in each.entries if isinstance(entry, GapEntry)]
    if gaps:
        yield (
            f"Of {len(gaps)} stretches of time the ledger is not whole, the last until "
            f"{max(gap.until for gap in gaps):%Y-%m-%d %H:%M} UTC."
        )
