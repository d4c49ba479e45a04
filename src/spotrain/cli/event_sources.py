"""Who has the event files of jobs: the archive of a cluster, or the folders of this machine."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spotrain import contract
from spotrain.archive.errors import ArchiveError, NotFound
from spotrain.archive.event_files import list_event_files, read_event_bytes
from spotrain.archive.folder import Folder
from spotrain.archive.records import EventFile, JobLedger
from spotrain.cli.errors import UserError
from spotrain.cli.jobs import Jobs
from spotrain.job import InvalidDocument

if TYPE_CHECKING:
    from spotrain.local.shelf import Shelf


class EventSource(Protocol):
    """Event files of output folders, and jobs' ledgers. Raises an ArchiveError."""

    def ledger(self, name: str) -> JobLedger: ...

    def event_files(self, output: str) -> list[EventFile]: ...

    def event_bytes(self, output: str, path: str, begin: int) -> bytes: ...


@dataclass(frozen=True)
class LocalEvents:
    """`EventSource` of a volume on this machine."""

    output: Path
    folder: Folder
    """With the ledgers of this machine's jobs."""

    def ledger(self, name: str) -> JobLedger:
        return self.folder.ledger(name)

    def event_files(self, output: str) -> list[EventFile]:
        if not self.output.is_dir():
            raise NotFound(f"there is no folder {self.output}.")
        return list_event_files(self.output, output)

    def event_bytes(self, output: str, path: str, begin: int) -> bytes:
        return read_event_bytes(self.output, output, path, begin)


Opener = Callable[[], AbstractContextManager[Callable[[str], EventSource]]]
"""Opens what has a job's files, for one look: an archive may move between two."""


@contextmanager
def opened(
    *, context: str | None, namespace: str | None, local: bool
) -> Iterator[tuple[Jobs, Opener]]:
    """Raises UserError, for whatever goes wrong in the context and in what it opens too."""
    if local:
        from spotrain.cli.local_jobs import LocalJobs, own_shelf

        shelf = own_shelf()
        yield LocalJobs(shelf), lambda: _here(shelf)
        return
    from spotrain.cli.archive import archive_of
    from spotrain.cli.cluster import Cluster, connected
    from spotrain.cli.cluster_jobs import ClusterJobs

    @contextmanager
    def asked(cluster: Cluster) -> Iterator[Callable[[str], EventSource]]:
        with archive_of(cluster) as archive:
            yield lambda _job: archive

    with connected(context, namespace) as cluster:
        yield ClusterJobs(cluster), lambda: asked(cluster)


@contextmanager
def _here(shelf: "Shelf") -> Iterator[Callable[[str], EventSource]]:
    from spotrain.cli.local_jobs import unusable
    from spotrain.local.shelf import NoSuchJob

    def of(name: str) -> EventSource:
        volume = shelf.volume
        with contextlib.suppress(NoSuchJob):  # deleted; what it wrote stays
            volume = Path(shelf.find(name).settings().volumes[contract.VOLUME_CLAIM])
        return LocalEvents(volume / contract.OUTPUT_DIR, Folder(shelf.archive))

    try:
        yield of
    except InvalidDocument as error:
        raise unusable(error) from None
    except ArchiveError as error:
        raise UserError(str(error)) from None
    except OSError as error:
        raise UserError(f"the volume of this machine cannot be read: {error}.") from None
