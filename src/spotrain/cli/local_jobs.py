"""The jobs on this machine, each run by a process of its own."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from spotrain.cli.errors import UserError
from spotrain.cli.job_rows import JobRow, row_of_document
from spotrain.cli.jobs import name_taken, names_of, no_such_job
from spotrain.cli.local_engines import start_engine, without_engine
from spotrain.cli.refusals import NotThere
from spotrain.cli.sweep_jobs import sweep_of
from spotrain.job import InvalidDocument
from spotrain.kinds import Object
from spotrain.local.shelf import (
    AlreadyRun,
    NameTaken,
    NoSuchJob,
    Settings,
    Shelf,
    StoredJob,
)

T = TypeVar("T")
ENV_FOLDER: Final = "SPOTRAIN_LOCAL_FOLDER"
FOLDER: Final = ".spotrain"
"""In the folder where a command is typed, unless the environment names another."""
WHERE: Final = "on this machine"
LOOK_SECONDS: Final = 0.2


def own_shelf() -> Shelf:
    """Raises UserError where its place is taken by a file."""
    folder = Path(os.environ.get(ENV_FOLDER) or FOLDER)
    if os.path.isfile(folder):
        raise UserError(
            f"{folder}: is a file, and jobs of this machine are kept in a folder; name one by "
            f"{ENV_FOLDER}, or move the file away."
        )
    return Shelf(folder.resolve())


@dataclass(frozen=True)
class LocalJobs:
    """`Jobs` of this machine."""

    shelf: Shelf
    settings: Settings | None = None
    """Of jobs that are made; None: this command makes none."""

    @property
    def where(self) -> str:
        return WHERE

    def list(self) -> Sequence[Object]:
        found = []
        for stored in self.shelf.jobs():
            with contextlib.suppress(NoSuchJob):  # deleted meanwhile
                found.append(seen(stored))
        return found

    def names(self) -> Sequence[str]:
        return names_of(self.list())

    def rows(self) -> Sequence[JobRow]:
        return [row_of_document(document) for document in self.list()]

    def watch_rows(self) -> Iterator[Sequence[JobRow]]:
        return _changes(self.rows)

    def watch_sweep(self, sweep: str) -> Iterator[Sequence[Object]]:
        return _changes(lambda: [each for each in self.list() if sweep_of(each) == sweep])

    def get(self, name: str) -> Object:
        try:
            return seen(self.shelf.find(name))
        except NoSuchJob:
            raise self._unknown(name) from None

    def create(self, document: Mapping[str, Any]) -> Object:
        assert self.settings
        with contextlib.suppress(NoSuchJob):
            seen(self.shelf.find(document["metadata"]["name"]))  # a deleted one goes by it
        try:
            with kept(self.shelf):
                added = self.shelf.add(document, self.settings)
        except NameTaken:
            name = str(document["metadata"]["name"])
            raise name_taken(name, WHERE, options="--local") from None
        try:
            start_engine(added)
        except BaseException:
            with contextlib.suppress(NoSuchJob):
                remove(added, added.uid)
            raise
        return seen(added)

    def patch(self, name: str, change: Mapping[str, Any]) -> Object:
        stored = self._find(name)
        with usable(), kept(self.shelf):
            changed = stored.change(change)
        if not stored.is_run and not changed["spec"].get("suspend"):
            start_engine(stored)
        return seen(stored)

    def delete(self, name: str) -> None:
        """Its workers are told to leave, and save; what runs it removes it then."""
        stored = self._find(name)
        with contextlib.suppress(NoSuchJob), kept(self.shelf):
            remove(stored, stored.uid)

    def watch(self, name: str) -> Iterator[Object]:
        stored, last = self._find(name), None
        while True:
            try:
                now = seen(stored)
            except NoSuchJob:
                return
            if now != last:
                yield now
                last = now
            time.sleep(LOOK_SECONDS)

    def _find(self, name: str) -> StoredJob:
        self.get(name)
        try:
            return self.shelf.find(name)
        except NoSuchJob:
            raise self._unknown(name) from None

    def _unknown(self, name: str) -> NotThere:
        return no_such_job(name, [stored.name for stored in self.shelf.jobs()], WHERE)


def _changes(look: Callable[[], T]) -> Iterator[T]:
    """What is seen first, and then whatever differs from what was seen before. Files tell nobody
    of their changes, so they are looked at again and again."""
    last: T | None = None
    while True:
        now = look()
        if now != last:
            yield now
            last = now
        time.sleep(LOOK_SECONDS)


def seen(stored: StoredJob) -> Object:
    """The job as it is: what its engine wrote last is old news once nobody runs it.

    Raises NoSuchJob; UserError where a file of it is spoilt.
    """
    is_run = stored.is_run  # before the document: an engine that ends writes first
    with usable():
        document = stored.document()
    if is_run:
        return document
    if document["metadata"].get("deletionTimestamp"):  # its engine ended before it could see it
        try:
            with kept(Shelf(stored.folder.parents[1])):
                stored.remove(document["metadata"]["uid"])
        except AlreadyRun:
            return document
        raise NoSuchJob(stored.name)
    return without_engine(document, stored.last_alive)


def remove(stored: StoredJob, uid: str) -> None:
    """Now, or by what runs it when its workers are gone. Raises NoSuchJob, OSError."""
    try:
        stored.remove(uid)
    except AlreadyRun:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stored.change({"metadata": {"deletionTimestamp": now}, "spec": {"suspend": True}})


@contextmanager
def kept(shelf: Shelf) -> Iterator[None]:
    """Around what writes a job of the shelf. Raises UserError where the disk does not take it."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{shelf.root}: the job cannot be kept there: {error.strerror}. Make room, or let it "
            f"be written, and type the same again; for a new job {ENV_FOLDER} may name another "
            "folder."
        ) from None


@contextmanager
def usable() -> Iterator[None]:
    """Around what reads a job's files. Raises UserError where one is spoilt."""
    try:
        yield
    except InvalidDocument as error:
        raise unusable(error) from None


def unusable(error: InvalidDocument) -> UserError:
    """In one line."""
    return UserError(" ".join(str(error).split()))
