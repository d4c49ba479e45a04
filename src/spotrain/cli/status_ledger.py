"""The ledger as far as the jobs' own status has it, where there is no archive to be asked."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from spotrain.archive.errors import NotFound
from spotrain.archive.folder import began_at, overlaps
from spotrain.archive.news import KEPT_IN_STATUS, Snapshot, newest, read_job
from spotrain.archive.records import JobLedger, JobRecord, JobStay
from spotrain.cli.costs import Archive
from spotrain.cli.job_view import view
from spotrain.kinds import Object
from spotrain.ledger.entries import AnyEntry, GapEntry, NodeEntry, StayEntry

SHORT_MEMORY = f"its status keeps the newest {KEPT_IN_STATUS} worlds and pods that have ended"


class StatusLedger:
    """In the words of `archive.folder.Folder`: the newest worlds and pods of each job that is
    there, and no node's life."""

    def __init__(self, documents: Iterable[Object]) -> None:
        self._snapshots = {found.job.uid: found for found in map(_read, documents)}

    def jobs(self) -> list[JobRecord]:
        return [snapshot.job for snapshot in self._snapshots.values()]

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        """Raises NotFound."""
        for found in self._snapshots.values():
            if found.job.name == name and uid in ("", found.job.uid):
                return JobLedger(job=found.job, entries=found.entries)
        raise NotFound(f"there is no job {name!r}; `spotrain list` shows which there are.")

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        return []

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        return _stays(self._snapshots.values(), since, until)


class RefreshedLedger:
    """An archive's, and what the jobs' own status has newer: the archive hears of all a moment
    later, and writes down a world that goes on every five minutes."""

    def __init__(self, archive: Archive, documents: Iterable[Object]) -> None:
        self._archive = archive
        self._snapshots: Sequence[Snapshot] = [read_job(document) for document in documents]

    def jobs(self) -> list[JobRecord]:
        kept = {job.uid: job for job in self._archive.jobs()}
        told = {snapshot.job.uid: snapshot.job for snapshot in self._snapshots}
        return list({**kept, **told}.values())

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        """Raises whatever the archive does for a job of which the status tells nothing."""
        for told in self._snapshots:
            if told.job.name == name and uid in ("", told.job.uid):
                return JobLedger(job=told.job, entries=self._entries(told))
        return self._archive.ledger(name, uid)

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        return self._archive.nodes(since, until)

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        kept = self._archive.stays(since, until)
        told = _stays(self._snapshots, since, until)
        return list({stay.stay.uid: stay for stay in (*kept, *told)}.values())

    def _entries(self, told: Snapshot) -> tuple[AnyEntry, ...]:
        try:
            kept = self._archive.ledger(told.job.name, told.job.uid).entries
        except NotFound:
            kept = ()
        return tuple(sorted(newest((*kept, *told.entries)), key=began_at))


def _stays(
    snapshots: Iterable[Snapshot], since: datetime | None, until: datetime | None
) -> list[JobStay]:
    return [
        JobStay(job=snapshot.job.name, job_uid=snapshot.job.uid, stay=entry)
        for snapshot in snapshots
        for entry in snapshot.entries
        if isinstance(entry, StayEntry) and overlaps(entry.created_at, entry.ended_at, since, until)
    ]


def _read(document: Object) -> Snapshot:
    """With a gap where the status keeps older entries as sums only."""
    found = read_job(document)
    account = view(document).status.ledger
    if account is None or account.settled is None:
        return found
    gap = GapEntry(of=StayEntry.kind, since=account.since, until=account.settled.until)
    return Snapshot(job=found.job, entries=(gap, *found.entries))
