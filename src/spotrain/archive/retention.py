"""What the archive keeps no longer. Pure, but for the sizes that somebody hands in.

Logs go by age, and where all of them are too much, those of the job that ended first. A job whose
end is not known keeps its logs: what one may have is bounded (`log_files.LogBounds`). Ledgers are
small, and stay for ever unless somebody says otherwise.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.archive.records import JobRecord

GIB: Final = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Retention:
    log_days: int = 30
    """After the job's end."""
    logs_gib: int = 10
    """Of all jobs together."""
    ledger_days: int | None = None
    """After the job's object is gone; None: for ever."""


DEFAULT: Final = Retention()


def logs_to_drop(
    jobs: Iterable[JobRecord],
    sizes: Mapping[str, int],
    retention: Retention,
    now: datetime,
    *,
    busy: frozenset[str] = frozenset(),
) -> Sequence[JobRecord]:
    """Those whose logs go, the job that ended first before the others.

    Args:
        sizes: uid of a job -> bytes of its logs, of all that have any.
        busy: uids of jobs that have pods, and may still write.
    """
    ended = sorted(_ended(jobs, sizes.keys() - busy), key=lambda pair: (pair[0], pair[1].uid))
    horizon, left, dropped = now - timedelta(days=retention.log_days), sum(sizes.values()), []
    for ended_at, job in ended:
        if ended_at < horizon or left > retention.logs_gib * GIB:
            dropped.append(job)
            left -= sizes[job.uid]
    return dropped


def _ended(jobs: Iterable[JobRecord], uids: Iterable[str]) -> Iterator[tuple[datetime, JobRecord]]:
    wanted = set(uids)
    for job in jobs:
        at = job.ended_at or job.deleted_at
        if job.uid in wanted and at is not None:
            yield at, job


def ledgers_to_drop(
    jobs: Iterable[JobRecord], retention: Retention, now: datetime
) -> Sequence[JobRecord]:
    """Of jobs whose object is gone; the others' might be written to."""
    horizon = ledger_horizon(retention, now)
    if horizon is None:
        return []
    return [job for job in jobs if job.deleted_at is not None and job.deleted_at < horizon]


def ledger_horizon(retention: Retention, now: datetime) -> datetime | None:
    """What ended before goes; None: nothing does."""
    days = retention.ledger_days
    return None if days is None else now - timedelta(days=days)
