"""Who looks after the checkpoints of a job: the archive of a cluster, this machine, and of those in
a bucket nobody but who asks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from spotrain import contract
from spotrain.archive.checkpoints import (
    list_checkpoints,
    listed,
    prune_checkpoints,
    verified,
    verify_checkpoints,
)
from spotrain.archive.errors import ArchiveError, NotFound
from spotrain.archive.records import CheckpointRecord
from spotrain.checkpoints.inventory import Inventory
from spotrain.checkpoints.retention import Retention, prune
from spotrain.checkpoints.store import Store, is_in_bucket, open_store
from spotrain.cli.errors import NOT_FOUND, USAGE, UserError
from spotrain.cli.job_output import checkpoints_below, output_of
from spotrain.kinds import Object

Found = TypeVar("Found")


class Keeper(Protocol):
    """Looks after the checkpoints in a place, as a job names it. Raises ArchiveError, UserError."""

    def checkpoints(self, place: str) -> list[CheckpointRecord]: ...

    def verify_checkpoints(self, place: str) -> Iterator[CheckpointRecord]: ...

    def prune_checkpoints(self, place: str, keep: int) -> list[str]: ...


@dataclass(frozen=True)
class Kept:
    """The checkpoints of one job. Every method raises what its keeper does."""

    keeper: Keeper
    place: str
    may_be_none: bool
    """The job is there, and has chosen the place: it may have saved nothing yet."""

    @classmethod
    def of(
        cls, keeper: Keeper, document: Object | None, name: str, *, output: str | None
    ) -> "Kept":
        """`document`: None where the job is gone; what it wrote stays. `output`: None is where the
        job's is. `keeper`: unless that lies in a bucket."""
        place = checkpoints_below(output or output_of(document, name))
        found = BucketKeeper() if is_in_bucket(place) else keeper
        return cls(found, place, may_be_none=document is not None and output is None)

    def records(self) -> list[CheckpointRecord]:
        return self._if_there(lambda: self.keeper.checkpoints(self.place))

    def verified(self) -> list[CheckpointRecord]:
        return self._if_there(lambda: list(self.keeper.verify_checkpoints(self.place)))

    def prune(self, keep: int) -> list[str]:
        return self._if_there(lambda: self.keeper.prune_checkpoints(self.place, keep))

    def _if_there(self, ask: Callable[[], list[Found]]) -> list[Found]:
        try:
            return ask()
        except NotFound:
            if self.may_be_none:
                return []
            raise


@contextmanager
def opened_keeper(
    context: str | None, namespace: str | None, name: str, output: str | None, *, local: bool
) -> Iterator[Kept]:
    """`output`: None is where the job's is. Raises UserError, for what goes wrong in the context
    too."""
    if local:
        keeper, known = _on_this_machine(name)
        with _told():
            yield Kept.of(keeper, known, name, output=output)
        return
    from spotrain.cli.archive import archive_of
    from spotrain.cli.cluster import connected
    from spotrain.cli.refusals import NotThere
    from spotrain.kinds import JOBS

    with connected(context, namespace) as cluster:
        document = None
        with suppress(NotThere):
            document = cluster.get(JOBS, name)
        kept = Kept.of(BucketKeeper(), document, name, output=output)
        if is_in_bucket(kept.place):
            yield kept
            return
        with archive_of(cluster) as archive:
            yield replace(kept, keeper=archive)


def _on_this_machine(name: str) -> tuple["LocalKeeper", Object]:
    from spotrain.cli.local_jobs import LocalJobs, own_shelf, usable

    jobs = LocalJobs(own_shelf())
    document = jobs.get(name)
    with usable():
        volumes = jobs.shelf.find(name).settings().volumes
    return LocalKeeper(Path(volumes[contract.VOLUME_CLAIM]) / contract.OUTPUT_DIR), document


@dataclass(frozen=True)
class LocalKeeper:
    """`Keeper` of a folder of this machine."""

    folder: Path

    def checkpoints(self, place: str) -> list[CheckpointRecord]:
        return list_checkpoints(self.folder, place)

    def verify_checkpoints(self, place: str) -> Iterator[CheckpointRecord]:
        return verify_checkpoints(self.folder, place)

    def prune_checkpoints(self, place: str, keep: int) -> list[str]:
        return prune_checkpoints(self.folder, place, Retention(keep=keep))


class BucketKeeper:
    """`Keeper` of places in buckets, with the login of who types: no archive has rights there."""

    def checkpoints(self, place: str) -> list[CheckpointRecord]:
        with _opened(place) as store:
            return listed(store)

    def verify_checkpoints(self, place: str) -> Iterator[CheckpointRecord]:
        with _opened(place) as store:
            yield from verified(store)

    def prune_checkpoints(self, place: str, keep: int) -> list[str]:
        with _opened(place) as store:
            return [str(id) for id in prune(Inventory(store), Retention(keep=keep))]


@contextmanager
def _opened(place: str) -> Iterator[Store]:
    try:
        yield open_store(place)
    except (ValueError, ImportError) as error:
        raise UserError(f"{error}.") from None
    except OSError as error:
        raise UserError(
            f"{str(error).rstrip('.')}. Checkpoints in a bucket are read and removed with your own "
            "login there: see that you have one, and the right to."
        ) from None


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ArchiveError as error:
        code = NOT_FOUND if isinstance(error, NotFound) else USAGE
        raise UserError(str(error), exit_code=code) from None
