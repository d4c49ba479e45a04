"""The archive's folder, read without a server."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from spotrain.archive import layout
from spotrain.archive.errors import NotFound
from spotrain.archive.ledger_files import read_entries, read_jobs, read_nodes
from spotrain.archive.log_reader import EVERYTHING, LogQuery, LogReader
from spotrain.archive.records import JobLedger, JobRecord, JobStay, LogLine
from spotrain.ledger.entries import (
    AnyEntry,
    BackOffEntry,
    MetricsEntry,
    NodeEntry,
    PauseEntry,
    StayEntry,
    WorldEntry,
)

LOOK_AGAIN_SECONDS: Final = 0.5
"""Between two looks for new lines, where somebody follows."""
QUIET_LOOKS: Final = 6
"""Looks without a new line after which the log of a job that has ended is over."""


class Folder:
    """Ledger and logs below a folder. Raises OSError where it cannot be read.

    A method's answer is whole, however much is written meanwhile; what `client.Client` has over
    HTTP, this has in the same words.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def jobs(self) -> list[JobRecord]:
        """Oldest first."""
        return sorted(read_jobs(self._folder).values(), key=lambda job: (job.created_at, job.uid))

    def job(self, name: str, uid: str = "") -> JobRecord:
        """Without a uid the newest of that name. Raises NotFound."""
        found = [job for job in self.jobs() if job.name == name and uid in ("", job.uid)]
        if not found:
            told = f"{name} with uid {uid}" if uid else name
            raise NotFound(f"no job {told} is written down; `spotrain list` shows which there are.")
        return found[-1]

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        """Raises NotFound."""
        job = self.job(name, uid)
        return JobLedger(job=job, entries=self._entries(job))

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        """Those that were there at some time between the two."""
        return [
            node
            for node in read_nodes(self._folder)
            if overlaps(node.created_at, node.gone_at, since, until)
        ]

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        """Of all jobs, those of some time between the two."""
        return [
            JobStay(job=job.name, job_uid=job.uid, stay=stay)
            for job in self.jobs()
            if overlaps(job.created_at, job.deleted_at, since, until)
            for stay in self._entries(job)
            if isinstance(stay, StayEntry)
            and overlaps(stay.created_at, stay.ended_at, since, until)
        ]

    def logs(
        self, name: str, uid: str = "", query: LogQuery = EVERYTHING, *, follow: bool = False
    ) -> Iterator[LogLine]:
        """In time order. With `follow` until some seconds after the job has ended.

        Raises NotFound.
        """
        job = self.job(name, uid)
        reader = self.log_reader(job, query)
        if not follow:
            return reader.read()
        return self._follow(reader, lambda: bool(self.job(name, job.uid).outcome))

    def log_reader(self, job: JobRecord, query: LogQuery) -> LogReader:
        return LogReader(self._folder / layout.logs_folder(job.name, job.uid), query)

    def _follow(self, reader: LogReader, has_ended: Callable[[], bool]) -> Iterator[LogLine]:
        quiet = 0
        while quiet < QUIET_LOOKS:
            lines = list(reader.read())
            yield from lines
            quiet = 0 if lines or not has_ended() else quiet + 1
            time.sleep(LOOK_AGAIN_SECONDS)

    def _entries(self, job: JobRecord) -> tuple[AnyEntry, ...]:
        found = read_entries(self._folder, layout.ledger_file(job.name, job.uid))
        return tuple(sorted(found, key=began_at))


def overlaps(
    begin: datetime, end: datetime | None, since: datetime | None, until: datetime | None
) -> bool:
    return (until is None or begin < until) and (since is None or end is None or end > since)


def began_at(entry: AnyEntry) -> datetime:
    match entry:
        case WorldEntry():
            return entry.published_at
        case PauseEntry() | BackOffEntry():
            return entry.since
        case StayEntry() | NodeEntry():
            return entry.created_at
        case MetricsEntry():
            return entry.at
        case _:
            return entry.since
