"""The jobs on this machine, each run by a process of its own."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from spotrain.cli.errors import JOB_FAILED, UserError
from spotrain.cli.job_rows import JobRow, row_of_document
from spotrain.cli.jobs import name_taken, names_of, no_such_job
from spotrain.cli.refusals import NotThere
from spotrain.cli.sweep_jobs import sweep_of
from spotrain.controller.status import FAILED, NO_PROCESS, RUNNING, SUCCEEDED, SUSPENDED
from spotrain.job import InvalidDocument
from spotrain.kinds import Object
from spotrain.local.shelf import (
    AlreadyRun,
    NameTaken,
    NoSuchJob,
    Settings,
    Shelf,
    StoredJob,
    merged,
)

T = TypeVar("T")
ENV_FOLDER: Final = "SPOTRAIN_LOCAL_FOLDER"
FOLDER: Final = ".spotrain"
"""In the folder where a command is typed, unless the environment names another."""
WHERE: Final = "on this machine"
LOOK_SECONDS: Final = 0.2
START_SECONDS: Final = 300.0
"""An engine that has not begun by then never will; a loaded machine takes seconds."""
INTERRUPTED: Final = "Interrupted"
"""State of a job that nobody runs though it has not ended."""


def own_shelf() -> Shelf:
    return Shelf(Path(os.environ.get(ENV_FOLDER, FOLDER)).resolve())


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
    return without_engine(document)


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


def without_engine(document: Object) -> Object:
    """The document of a job that no process runs: its workers are gone, whatever it says."""
    status = document.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or []}
    if any(conditions.get(kind, {}).get("status") == "True" for kind in (SUCCEEDED, FAILED)):
        return document
    name = document["metadata"]["name"]
    kind = SUSPENDED if document["spec"].get("suspend") else RUNNING
    conditions[kind] = {
        **conditions.get(kind, {}),
        "type": kind,
        "status": "True" if kind == SUSPENDED else "False",
        "reason": NO_PROCESS,
        "message": f"no process runs it; spotrain resume {name} --local goes on where it was.",
    }
    told: Object = {
        "state": SUSPENDED if kind == SUSPENDED else INTERRUPTED,
        "conditions": list(conditions.values()),
        "replicaStatuses": None,
        "world": None,
    }
    return {**document, "status": merged(status, told)}


def start_engine(stored: StoredJob) -> None:
    """Run the job in a process that outlives this one. Raises UserError where it does not start."""
    before, story = _written(stored), stored.folder / "story.log"
    process = _spawn([sys.executable, "-m", "spotrain.local", str(stored.folder)], story)
    deadline = time.monotonic() + START_SECONDS
    ended = 0
    try:
        while _written(stored) == before:
            ended, _ = os.waitpid(process, os.WNOHANG)
            if ended or time.monotonic() > deadline:
                told = story.read_text(errors="replace").splitlines() or ["it says nothing"]
                raise UserError(f"the job did not start here: {told[-1]}", exit_code=JOB_FAILED)
            time.sleep(0.05)
    except BaseException:  # Ctrl-C too
        if not ended:
            os.kill(process, signal.SIGTERM)
        raise


def _spawn(command: list[str], output: Path) -> int:
    """In a session of its own: a Ctrl-C is for the command that starts it, not for the job."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def _written(stored: StoredJob) -> int:
    """When its engine wrote last."""
    try:
        return stored.status_file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
