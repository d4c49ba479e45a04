"""What a job's present status adds to what is written down of it already. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from spotrain import contract
from spotrain.archive.records import JobRecord
from spotrain.counts import count
from spotrain.job import JobError, parse_job
from spotrain.ledger import settlement
from spotrain.ledger.entries import (
    AnyEntry,
    BackOffEntry,
    GapEntry,
    MetricsEntry,
    PauseEntry,
    StayEntry,
    WorldEntry,
    from_document,
)

Key = tuple[str, str]
KEPT_IN_STATUS: Final = settlement.NEWEST
"""Worlds, and stays that have ended: a status that shows fewer shows all."""
PROGRESS: Final = timedelta(minutes=5)
"""A world, or a stay, that goes on is written down so often; the job's status has it newer."""

METRICS: Final = timedelta(minutes=1)
METRICS_SHARE: Final = 500
"""Metrics are written down once in a minute, or in a five hundredth of the job's age: 500 times in
the first eight hours, 2700 in a month. Where the minute is less (`find_news`), short jobs have
more."""


LONGEST: Final = 500
"""Characters of why a job has ended."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A job as its object tells it now."""

    job: JobRecord
    entries: tuple[AnyEntry, ...]


def read_job(document: Mapping[str, Any], *, gone_at: datetime | None = None) -> Snapshot:
    """`gone_at`: when its object was deleted. Raises KeyError, ValueError for no ElasticJob."""
    metadata, status = document["metadata"], document.get("status") or {}
    outcome, ended_at, message = _end(status)
    if gone_at and not outcome:
        outcome, ended_at = "deleted", gone_at
    job = JobRecord(
        name=metadata["name"],
        uid=metadata["uid"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        ended_at=ended_at,
        outcome=outcome,
        message=message,
        deleted_at=gone_at,
        researcher=(metadata.get("labels") or {}).get(contract.LABEL_RESEARCHER, ""),
        min_workers=_min_workers(document),
    )
    ledger = status.get("ledger") or {}
    told = [
        *_entries(status.get("history"), WorldEntry),
        *_entries(ledger.get("stays"), StayEntry),
        *_entries(ledger.get("pauses"), PauseEntry),
        *_entries(ledger.get("backOffs"), BackOffEntry),
        *_metrics(status.get("progress") or {}),
    ]
    return Snapshot(job=job, entries=tuple(told))


def _min_workers(document: Mapping[str, Any]) -> int | None:
    """None: it is no usable job, or all of it that is known is its status."""
    try:
        return parse_job({**document, "status": None}).min_replicas
    except JobError:
        return None


def _end(status: Mapping[str, Any]) -> tuple[str, datetime | None, str]:
    """Outcome, when, why; empty while the job lives."""
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in ("Succeeded", "Failed"):
            at = status.get("completionTime") or condition.get("lastTransitionTime")
            why = str(condition.get("message") or "")[:LONGEST]
            return condition["type"].lower(), datetime.fromisoformat(at) if at else None, why
    return "", None, ""


def _entries(documents: Any, kind: type[AnyEntry]) -> Iterator[AnyEntry]:
    """Those that can be read; the status is the controller's, perhaps of another version."""
    for document in documents or ():
        try:
            yield from_document({"kind": kind.kind, **document})
        except (ValueError, TypeError):
            continue


def _metrics(progress: Mapping[str, Any]) -> Iterator[AnyEntry]:
    if values := progress.get("metrics"):
        told = {"at": progress.get("at"), "step": progress.get("step"), "values": values}
        yield from _entries([told], MetricsEntry)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is written down under a key, and when that was."""

    entry: AnyEntry
    written_at: datetime


def find_news(
    known: Mapping[Key, Known], snapshot: Snapshot, now: datetime, *, metrics: timedelta = METRICS
) -> tuple[AnyEntry, ...]:
    """What is to be written down, gaps first. `metrics`: the least time between two of them."""
    gaps = [*_world_gap(known, snapshot), *_stay_gap(known, snapshot, now)]
    fresh = [
        entry
        for entry in snapshot.entries
        if _is_news(known.get(entry.key), entry, now)
        and _has_room(known, entry, snapshot.job, metrics)
    ]
    return (*(gap for gap in gaps if gap.key not in known), *fresh)


def _has_room(
    known: Mapping[Key, Known], entry: AnyEntry, job: JobRecord, least: timedelta
) -> bool:
    """Metrics come four times a minute, for weeks; the last ones of a job are always kept."""
    told = _of_kind(known, MetricsEntry) if isinstance(entry, MetricsEntry) else ()
    if not isinstance(entry, MetricsEntry) or not told:
        return True
    since = entry.at - max(one.at for one in told)
    spacing = max(least, (entry.at - job.created_at) / METRICS_SHARE)
    return since >= spacing or (bool(job.outcome) and since > timedelta(0))


def _is_news(before: Known | None, entry: AnyEntry, now: datetime) -> bool:
    if before is None:
        return True
    if _without_progress(before.entry) == _without_progress(entry):
        return before.entry != entry and now - before.written_at >= PROGRESS
    return True


def find_loose_ends(known: Mapping[Key, Known], gone_at: datetime) -> tuple[GapEntry, ...]:
    """What the ledger of a job whose object is gone says is still open, and cannot be."""
    open_since: dict[str, datetime] = {}
    for one in known.values():
        entry = one.entry
        if isinstance(entry, WorldEntry) and entry.ended_at is None:
            since = entry.last_step_at or entry.published_at
        elif isinstance(entry, StayEntry) and entry.ended_at is None:
            since = entry.started_at or entry.created_at
        else:
            continue
        open_since[entry.kind] = min(since, open_since.get(entry.kind, since))
    return tuple(
        GapEntry(
            of=kind,
            since=since,
            until=gone_at,
            message="the job was deleted before their end was told.",
        )
        for kind, since in open_since.items()
    )


def _without_progress(entry: AnyEntry) -> AnyEntry:
    if isinstance(entry, StayEntry) and entry.ended_at is None:
        return replace(entry, read_bytes=None, written_bytes=None)
    if not isinstance(entry, WorldEntry) or entry.ended_at is not None:
        return entry
    return replace(
        entry,
        last_step_at=None,
        last_step=None,
        committed_step=None,
        samples_per_step=0,
        save_stall_seconds=0.0,
        data_wait_seconds=0.0,
    )


def _world_gap(known: Mapping[Key, Known], snapshot: Snapshot) -> Iterator[GapEntry]:
    told = [entry for entry in snapshot.entries if isinstance(entry, WorldEntry)]
    if len(told) < KEPT_IN_STATUS:
        return  # a number that is not there was given out and never used
    oldest = min(told, key=lambda world: world.number)
    written = _of_kind(known, WorldEntry)
    last = max(written, key=lambda world: world.number, default=None)
    number = last.number if last else 0
    if oldest.number > number + 1:
        yield GapEntry(
            of="world",
            since=(last.ended_at or last.published_at) if last else snapshot.job.created_at,
            until=oldest.published_at,
            message=f"worlds {number + 1} to {oldest.number - 1} came and went unseen.",
        )


def _stay_gap(known: Mapping[Key, Known], snapshot: Snapshot, now: datetime) -> Iterator[GapEntry]:
    """Stays have no numbers. Some are missing where one that was open is told no more, or where
    the status is full and all that it tells has ended unseen."""
    told = {entry.uid: entry for entry in snapshot.entries if isinstance(entry, StayEntry)}
    ended = [stay for stay in told.values() if stay.ended_at is not None]
    written = _of_kind(known, StayEntry)
    lost = [stay for stay in written if stay.ended_at is None and stay.uid not in told]
    is_full = len(ended) >= KEPT_IN_STATUS
    unseen = is_full and not any(stay.key in known for stay in ended)
    if not lost and not unseen:
        return
    times = [stay.created_at for stay in lost] or [
        max((stay.ended_at or stay.created_at for stay in written), default=snapshot.job.created_at)
    ]
    yield GapEntry(
        of="stay",
        since=min(times),
        until=min((stay.ended_at for stay in ended if stay.ended_at), default=now),
        message=(
            f"the ends of {count(len(lost), 'pod')} were not seen"
            if lost
            else "pods may have come and gone unseen"
        )
        + f"; the status tells the last {KEPT_IN_STATUS}.",
    )


def _of_kind(known: Mapping[Key, Known], kind: type[Any]) -> Sequence[Any]:
    return [one.entry for one in known.values() if isinstance(one.entry, kind)]


def newest(entries: Iterable[AnyEntry]) -> tuple[AnyEntry, ...]:
    """The last one of each key, in the order in which the keys came first."""
    return tuple({entry.key: entry for entry in entries}.values())
