"""What jobs tell of themselves, in the words of the archive, where that has not been reached."""

from collections.abc import Iterable
from datetime import datetime

from spotrain.archive.errors import NotFound
from spotrain.archive.folder import overlaps
from spotrain.archive.news import KEPT_IN_STATUS, read_job
from spotrain.archive.records import JobLedger, JobRecord, JobStay
from spotrain.kinds import Object
from spotrain.ledger.entries import NodeEntry, StayEntry

SHORT_MEMORY = f"its status keeps the newest {KEPT_IN_STATUS} worlds and pods that have ended"


class StatusArchive:
    """`costs.Archive` out of the jobs' documents. Of nodes nothing is known but what pods held."""

    def __init__(self, documents: Iterable[Object]) -> None:
        self._snapshots = [read_job(document) for document in documents]

    def jobs(self) -> list[JobRecord]:
        return [snapshot.job for snapshot in self._snapshots]

    def ledger(self, name: str, uid: str = "") -> JobLedger:
        """Raises NotFound."""
        for snapshot in self._snapshots:
            if snapshot.job.name == name and uid in ("", snapshot.job.uid):
                return JobLedger(job=snapshot.job, entries=snapshot.entries)
        raise NotFound(f"there is no job {name!r}.")

    def nodes(
        self, since: datetime | None = None, until: datetime | None = None
    ) -> list[NodeEntry]:
        return []

    def stays(self, since: datetime | None = None, until: datetime | None = None) -> list[JobStay]:
        return [
            JobStay(job=snapshot.job.name, job_uid=snapshot.job.uid, stay=stay)
            for snapshot in self._snapshots
            for stay in snapshot.entries
            if isinstance(stay, StayEntry)
            and overlaps(stay.created_at, stay.ended_at, since, until)
        ]
