"""The ledger's files: appended to, never rewritten while a job lives, compacted when it ends."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spotrain.archive import json_lines, layout
from spotrain.archive.news import (
    METRICS,
    Key,
    Known,
    Snapshot,
    find_loose_ends,
    find_news,
    newest,
)
from spotrain.archive.records import JobRecord, known_entries, read_record, to_document
from spotrain.ledger import entries
from spotrain.ledger.entries import AnyEntry, NodeEntry

logger = logging.getLogger(__name__)


def read_jobs(folder: Path) -> dict[str, JobRecord]:
    """Uid -> what was last written of the job."""
    records = (_job(document) for document in json_lines.read(folder / layout.JOBS_FILE))
    return {record.uid: record for record in records if record}


def read_entries(folder: Path, file: str) -> tuple[AnyEntry, ...]:
    """Those of a file of the ledger, the last of each key."""
    return newest(known_entries(json_lines.read(folder / file)))


def read_nodes(folder: Path) -> list[NodeEntry]:
    return [
        entry for entry in read_entries(folder, layout.NODES_FILE) if isinstance(entry, NodeEntry)
    ]


class LedgerFiles:
    """The one writer of a ledger. Every method is durable when it returns.

    Raises OSError where the volume does not take it; nothing is taken for written then, so that
    the same may be asked again.
    """

    def __init__(self, folder: Path, *, metrics: timedelta = METRICS) -> None:
        """`metrics`: the least time between two metrics of a job."""
        self._folder = folder
        self._metrics = metrics
        self._jobs = read_jobs(folder)
        self._known: dict[str, dict[Key, Known]] = {}
        """Uid of a job whose object is there -> what is written of it."""
        self._nodes = {node.uid: node for node in read_nodes(folder)}

    @property
    def open_jobs(self) -> list[JobRecord]:
        """Those whose objects were there when they were last heard of."""
        return [job for job in self._jobs.values() if job.deleted_at is None]

    @property
    def open_nodes(self) -> list[NodeEntry]:
        return [node for node in self._nodes.values() if node.gone_at is None]

    def keep(self, snapshot: Snapshot, now: datetime) -> None:
        """Write down what it adds, but not that the job is gone, which is for `close`: whoever dies
        in between finds it open, and closes it."""
        job = snapshot.job
        file = layout.ledger_file(job.name, job.uid)
        known = self._known_of(job)
        news = find_news(known, snapshot, now, metrics=self._metrics)
        json_lines.append(self._folder / file, map(entries.to_document, news))
        known |= {entry.key: Known(entry=entry, written_at=now) for entry in news}
        self._enter(replace(job, deleted_at=None))

    def close(self, job: JobRecord) -> None:
        """Its object is gone: what is open will never be told, and the file is made compact."""
        assert job.deleted_at is not None
        known = self._known_of(job)
        told: list[AnyEntry] = [one.entry for one in known.values()]
        told += find_loose_ends(known, job.deleted_at)
        file = self._folder / layout.ledger_file(job.name, job.uid)
        json_lines.replace(file, map(entries.to_document, told))
        self._enter(job)
        del self._known[job.uid]

    def drop(self, jobs: Iterable[JobRecord], *, nodes_before: datetime) -> None:
        """Forget jobs whose objects are gone, and nodes that went before that time."""
        gone = {job.uid: job for job in jobs if job.deleted_at is not None}
        kept = {uid: job for uid, job in self._jobs.items() if uid not in gone}
        if len(kept) < len(self._jobs):
            # First the list, so that it names no file that is not there.
            json_lines.replace(self._folder / layout.JOBS_FILE, map(to_document, kept.values()))
            self._jobs = kept
        for job in gone.values():
            (self._folder / layout.ledger_file(job.name, job.uid)).unlink(missing_ok=True)
        told = read_entries(self._folder, layout.NODES_FILE)
        lasting = [entry for entry in told if not _is_before(entry, nodes_before)]
        if len(lasting) < len(told):
            documents = map(entries.to_document, lasting)
            json_lines.replace(self._folder / layout.NODES_FILE, documents)
            self._nodes = {each.uid: each for each in lasting if isinstance(each, NodeEntry)}

    def keep_node(self, node: NodeEntry) -> None:
        if self._nodes.get(node.uid) != node:
            json_lines.append(self._folder / layout.NODES_FILE, [entries.to_document(node)])
            self._nodes[node.uid] = node

    def note_gap(self, gap: entries.GapEntry) -> None:
        """Of nodes, which no job's ledger has."""
        json_lines.append(self._folder / layout.NODES_FILE, [entries.to_document(gap)])

    def _enter(self, job: JobRecord) -> None:
        if self._jobs.get(job.uid) != job:
            json_lines.append(self._folder / layout.JOBS_FILE, [to_document(job)])
            self._jobs[job.uid] = job

    def _known_of(self, job: JobRecord) -> dict[Key, Known]:
        if job.uid not in self._known:
            long_ago = datetime.min.replace(tzinfo=UTC)
            self._known[job.uid] = {
                entry.key: Known(entry=entry, written_at=long_ago)
                for entry in read_entries(self._folder, layout.ledger_file(job.name, job.uid))
            }
        return self._known[job.uid]


def _is_before(entry: AnyEntry, horizon: datetime) -> bool:
    ended = entry.gone_at if isinstance(entry, NodeEntry) else None
    ended = entry.until if isinstance(entry, entries.GapEntry) else ended
    return ended is not None and ended < horizon


def _job(document: dict[str, Any]) -> JobRecord | None:
    try:
        return read_record(JobRecord, document)
    except ValueError:
        logger.error("a line of %s is no job; it is left out", layout.JOBS_FILE)
        return None
