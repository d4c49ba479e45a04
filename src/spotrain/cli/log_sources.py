"""Where the lines of a job's workers come from: an archive, or the pods that are still there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from spotrain.archive.log_reader import LogQuery
from spotrain.archive.records import JobLedger, LogLine
from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.jobs import Jobs
from spotrain.job import worker_name
from spotrain.ledger.entries import StayEntry, WorldEntry


@dataclass(frozen=True)
class Line:
    worker: int
    text: str


class LogSource(Protocol):
    """The archive over HTTP, or its folder."""

    def ledger(self, name: str, uid: str = "") -> JobLedger: ...

    def logs(
        self, name: str, uid: str = "", query: LogQuery = ..., *, follow: bool = False
    ) -> Iterator[LogLine]: ...


@contextmanager
def opened(
    *, context: str | None, namespace: str | None, local: bool, of_pods: bool = False
) -> Iterator[tuple[Jobs, LogSource]]:
    """`of_pods`: not what the archive has kept, but what the pods have that are still there.

    Raises UserError, for whatever goes wrong in the context too; ArchiveAway where it is that.
    """
    if local:
        from spotrain.cli.local_archive import opened_local_archive
        from spotrain.cli.local_jobs import LocalJobs, own_shelf

        shelf = own_shelf()
        with opened_local_archive(shelf) as folder:
            yield LocalJobs(shelf), folder
        return
    from spotrain.cli.archive import archive_of
    from spotrain.cli.cluster import connected
    from spotrain.cli.cluster_jobs import ClusterJobs

    with connected(context, namespace) as cluster:
        if of_pods:
            from spotrain.cli.pod_logs import PodLogs

            yield ClusterJobs(cluster), PodLogs(cluster)
            return
        with archive_of(cluster) as archive:
            yield ClusterJobs(cluster), archive


def window_of(record: JobLedger, world: int) -> tuple[str, str]:
    """When a world lived: from its publication to its end, which is empty if it still does.

    Raises:
        UserError: there was none of the number.
    """
    worlds = [entry for entry in record.entries if isinstance(entry, WorldEntry)]
    found = next((entry for entry in worlds if entry.number == world), None)
    if found is None:
        known = f"there are {worlds[0].number} to {worlds[-1].number}" if worlds else "it had none"
        raise UserError(
            f"{record.job.name} had no world {world}; {known}.",
            exit_code=NOT_FOUND,
        )
    return stamp(found.published_at), stamp(found.ended_at) if found.ended_at else ""


def refuse_worker(record: JobLedger, worker: int) -> None:
    """Raises UserError where the job's ledger has pods, and none of that worker."""
    pods = {entry.pod for entry in record.entries if isinstance(entry, StayEntry)}
    if pods and worker_name(record.job.name, worker) not in pods:
        known = sorted(int(pod.rpartition("-")[2]) for pod in pods)
        raise UserError(
            f"{record.job.name} had no worker {worker}; there were {', '.join(map(str, known))}.",
            exit_code=NOT_FOUND,
        )


def stamp(moment: datetime) -> str:
    """As `LogLine.at` is written, so that the two compare as text."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
