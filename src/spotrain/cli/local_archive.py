"""What jobs of this machine have left behind, in the words of a cluster's archive."""

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from spotrain.archive.errors import NotFound
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles, read_nodes
from spotrain.archive.log_reader import EVERYTHING, LogQuery
from spotrain.archive.records import JobRecord, LogLine
from spotrain.cli.errors import NOT_FOUND, UserError
from spotrain.cli.job_view import view
from spotrain.cli.local_jobs import LocalJobs
from spotrain.job import InvalidDocument
from spotrain.local.keeper import end_loose_nodes, locked
from spotrain.local.shelf import NoSuchJob, Shelf

LOOK_SECONDS: Final = 0.2


class LocalArchive(Folder):
    """Every method raises an ArchiveError, NotThere for a name that no job has, or OSError."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf.archive)
        self._shelf = shelf

    def job(self, name: str, uid: str = "") -> JobRecord:
        try:
            return super().job(name, uid)
        except NotFound:
            LocalJobs(self._shelf).get(name)  # whose error knows near names
            raise

    def logs(
        self, name: str, uid: str = "", query: LogQuery = EVERYTHING, *, follow: bool = False
    ) -> Iterator[LogLine]:
        """With `follow`, or of a job that has just ended, until nobody runs it any more: all is
        written then.
        """
        job = self.job(name, uid)
        reader = self.log_reader(job, query)
        while True:
            goes_on = self._writes_more(job, or_trains=follow)
            yield from reader.read()
            if not goes_on:
                return
            time.sleep(LOOK_SECONDS)

    def _writes_more(self, job: JobRecord, *, or_trains: bool) -> bool:
        """Whether what runs it has told that it has ended, and writes its last lines still; or
        trains on. Not where another job has its name now."""
        with contextlib.suppress(NoSuchJob, InvalidDocument):
            stored = self._shelf.find(job.name)
            if stored.uid == job.uid and stored.is_run:
                return or_trains or view(stored.document()).status.finished
        return False


@contextmanager
def opened_local_archive(shelf: Shelf) -> Iterator[LocalArchive]:
    """Raises UserError, for whatever goes wrong in the context too."""
    try:
        end_nodes_of_dead_jobs(shelf)
        yield LocalArchive(shelf)
    except NotFound as error:
        raise UserError(str(error), exit_code=NOT_FOUND) from None
    except OSError as error:
        raise UserError(
            f"{error.filename or shelf.archive} cannot be read: {error.strerror}. Let it be read, "
            "and ask again."
        ) from None


def end_nodes_of_dead_jobs(shelf: Shelf) -> None:
    """A process that is killed cannot write down that its nodes are gone. Raises OSError."""
    if all(node.gone_at for node in read_nodes(shelf.archive)):
        return
    for stored in shelf.jobs():
        with contextlib.suppress(NoSuchJob, InvalidDocument):  # the verbs that show it tell of it
            if not stored.is_run:
                uid, last_alive = stored.uid, stored.last_alive
                with locked(shelf.archive):
                    end_loose_nodes(LedgerFiles(shelf.archive), uid, last_alive)
