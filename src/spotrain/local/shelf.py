"""The jobs of this machine, as folders: what was asked for, how it is, and whether it is run.

<root>/jobs/<name>/job.json        the ElasticJob, without its status
                   settings.json   what stands for image, volumes and machines
                   status.json     written by the engine, as all that `job_files` has
                   engine.lock     held by the process that runs the job
                   story.log       what happened, where nobody watched
                   interruptions/  workers that a drill wants taken away
<root>/jobs.lock                   held while a job is added or removed
<root>/removed/                    a job on its way out, which nobody finds any more
<root>/sweeps/                     `sweep_halt`
<root>/archive/                    ledger and output of all jobs, also of those that were deleted
<root>/efs/                        the shared volume of jobs that were given no other
"""

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError, field_validator

from spotrain import contract
from spotrain.job import InvalidDocument, Pool, parse_job, parse_pools
from spotrain.job.documents import Section, explain
from spotrain.kinds import Object
from spotrain.local.files import locked, read_document, replace_file, spoilt
from spotrain.local.job_files import STATUS, JobFiles
from spotrain.local.keeper import close_job
from spotrain.local.pools import own_pools

NAMESPACE: Final = "local"
"""Of every job of this machine."""
MACHINES: Final = 8
ARCHIVE: Final = "archive"
LOCK: Final = "jobs.lock"
REMOVED: Final = "removed"


class NameTaken(ValueError):
    """There is a job of the name."""


class NoSuchJob(KeyError):
    """There is no job of the name; it may have been deleted a moment ago."""


class AlreadyRun(RuntimeError):
    """Another process runs the job."""


class Settings(Section):
    """What the job finds on this machine. Folders are absolute."""

    workdir: str
    """Stands for the image's working directory."""
    volumes: Mapping[str, str] = {}
    """Volume claim -> folder."""
    machines: int = MACHINES
    """Nodes to be had."""
    port: int = 0
    """Of the coordinator; 0: a free one."""
    pools: str = ""
    """As the pools ConfigMap has them; empty: one pool of the job's own GPU."""


class KeptMetadata(Section, extra="ignore"):
    name: str
    uid: str
    generation: int
    creation_timestamp: str

    @field_validator("creation_timestamp")
    @classmethod
    def _is_a_moment(cls, told: str) -> str:
        try:
            if datetime.fromisoformat(told).tzinfo:
                return told
        except ValueError:
            pass
        raise ValueError("is no moment with its zone, as 2026-01-31T12:00:00+00:00; correct it.")


class KeptJob(Section, extra="ignore"):
    """What `Shelf.add` gives every job, and whoever shows one takes for granted. Whether the rest
    is a usable job is asked where it is run."""

    metadata: KeptMetadata
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class Shelf:
    """All jobs below a folder. What this machine's user may do, everyone who may write it may."""

    root: Path

    @property
    def volume(self) -> Path:
        """The shared volume of jobs that were given no other."""
        return self.root / contract.VOLUME_CLAIM

    @property
    def archive(self) -> Path:
        """Where ledger and output of all jobs are kept."""
        return self.root / ARCHIVE

    def jobs(self) -> "list[StoredJob]":
        folders = (self.root / "jobs").glob("*/job.json")
        return [StoredJob(file.parent) for file in folders]

    def pools(self) -> list[Pool]:
        """Of all jobs, one of each name."""
        found: dict[str, Pool] = {}
        for stored in self.jobs():
            with contextlib.suppress(NoSuchJob, InvalidDocument):
                found |= {pool.name: pool for pool in stored.pools()}
        return list(found.values())

    def find(self, name: str) -> "StoredJob":
        """Raises NoSuchJob."""
        found = StoredJob(self.root / "jobs" / name)
        if "/" in name or not found.job_file.is_file():
            raise NoSuchJob(name)
        return found

    def add(
        self,
        document: Mapping[str, Any],
        settings: Settings,
        *,
        run_until: ExitStack | None = None,
    ) -> "StoredJob":
        """A new job. It is there when `job.json` is, which comes last.

        Nobody runs it yet; with `run_until` this process does, until that is left, so that nobody
        ever sees it idle.

        Raises:
            JobError: it is no usable job.
            NameTaken: there is one of the name, which stays as it is.
            OSError: it cannot be written; there is no such job then.
        """
        name = parse_job(document).name
        added = StoredJob(self.root / "jobs" / name)
        metadata = {
            **document["metadata"],
            "namespace": NAMESPACE,
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": datetime.now(UTC).isoformat(),
        }
        text = json.dumps({**document, "metadata": metadata, "status": None}, indent=2)
        self.root.mkdir(parents=True, exist_ok=True)
        with locked(self.root / LOCK):
            if added.job_file.exists():
                raise NameTaken(name)
            added.folder.mkdir(parents=True, exist_ok=True)
            if run_until:
                run_until.enter_context(added.running())
            replace_file(added.settings_file, settings.model_dump_json(indent=2))
            replace_file(added.job_file, text)
        return added


@dataclass(frozen=True)
class StoredJob:
    """The job that has the name; after it was removed that may be another one, by its uid."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def archive(self) -> Path:
        """`Shelf.archive`."""
        return self.folder.parents[1] / ARCHIVE

    @property
    def job_file(self) -> Path:
        return self.folder / "job.json"

    @property
    def settings_file(self) -> Path:
        return self.folder / "settings.json"

    @property
    def status_file(self) -> Path:
        return self.folder / STATUS

    @property
    def uid(self) -> str:
        """Raises NoSuchJob, InvalidDocument."""
        return str(self.spec()["metadata"]["uid"])

    def document(self) -> Object:
        """The job with its status, as the API server would hand it out.

        Raises NoSuchJob, InvalidDocument.
        """
        document = self.spec()
        with contextlib.suppress(FileNotFoundError):
            document["status"] = read_document(self.status_file)
        return document

    def spec(self) -> Object:
        """The job without its status. Raises NoSuchJob, InvalidDocument."""
        try:
            document = read_document(self.job_file)
        except FileNotFoundError:
            raise NoSuchJob(self.name) from None
        try:
            KeptJob.model_validate(document)
        except ValidationError as error:
            raise spoilt(self.job_file, explain(error, KeptJob)) from None
        return document

    def settings(self) -> Settings:
        """Raises NoSuchJob, InvalidDocument."""
        try:
            return Settings.model_validate(read_document(self.settings_file))
        except FileNotFoundError:
            raise NoSuchJob(self.name) from None
        except ValidationError as error:
            raise spoilt(self.settings_file, explain(error, Settings)) from None

    def pools(self) -> tuple[Pool, ...]:
        """On whose nodes it runs. Raises NoSuchJob, InvalidDocument."""
        told = self.settings().pools
        return parse_pools(told) if told else own_pools(parse_job(self.spec()))

    def change(self, patch: Mapping[str, Any]) -> Object:
        """Apply a merge patch; the process that runs the job sees it in a moment.

        Raises:
            InvalidDocument: what would come out is no usable job; nothing was changed.
            NoSuchJob: it is gone.
            OSError: it cannot be written; nothing was changed.
        """
        try:
            with locked(self.folder / "change.lock"):
                before = self.spec()
                after = merged(before, patch)
                parse_job(after)
                after["metadata"]["generation"] = before["metadata"]["generation"] + 1
                replace_file(self.job_file, json.dumps(after, indent=2))
        except FileNotFoundError:  # its folder
            raise NoSuchJob(self.name) from None
        return after

    def remove(self, uid: str) -> None:
        """Everything but what it wrote to volumes and what the archive has of it. Nothing is done
        where it is gone already, though another job may have its name by now.

        Raises AlreadyRun, OSError, InvalidDocument.
        """
        with self._shelf_locked(), contextlib.suppress(NoSuchJob):
            if self.uid == uid:
                with self.running():
                    self._clear()

    def remove_run(self) -> None:
        """`remove`, for the process that runs it."""
        with self._shelf_locked(), contextlib.suppress(NoSuchJob):
            self._clear()

    def _clear(self) -> None:
        close_job(self.archive, self.document(), self.last_alive)
        leaving = self.folder.parents[1] / REMOVED
        shutil.rmtree(leaving, ignore_errors=True)  # of one who was interrupted
        os.replace(self.folder, leaving)  # nobody who looks at it meanwhile puts a file there
        shutil.rmtree(leaving)

    @contextmanager
    def _shelf_locked(self) -> Iterator[None]:
        with locked(self.folder.parents[1] / LOCK):
            yield

    @property
    def last_alive(self) -> datetime:
        """When the process that runs it, or ran it, wrote last."""
        return JobFiles(self.folder).last_alive or datetime.now(UTC)

    def is_kept(self, uid: str) -> bool:
        """Is there still what `Shelf.add` made of that job? Whoever runs it is alone in removing
        it, unless somebody takes away the folder. Raises InvalidDocument."""
        try:
            return self.uid == uid
        except NoSuchJob:
            return False

    @property
    def is_run(self) -> bool:
        """Does a process run it?"""
        try:
            with self._engine_lock.open() as lock:
                # Shared: two who look at once do not take each other for an engine.
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False

    @contextmanager
    def running(self) -> Iterator[None]:
        """This process runs the job, and no other. The lock ends with it, however it ends.

        Raises AlreadyRun; NoSuchJob: it has been removed.
        """
        try:
            lock = self._engine_lock.open("a")
        except FileNotFoundError:
            raise NoSuchJob(self.name) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRun(self.name) from None
            if not self._is_locked_by(lock.fileno()):
                raise NoSuchJob(self.name)
            yield

    def _is_locked_by(self, lock: int) -> bool:
        """Not if the job was removed between opening the file and locking it."""
        try:
            return os.path.samestat(os.fstat(lock), self._engine_lock.stat())
        except FileNotFoundError:
            return False

    @property
    def _engine_lock(self) -> Path:
        return self.folder / "engine.lock"


def merged(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Object:
    """RFC 7386: null removes a key, mappings are changed key by key, the rest is replaced."""
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            old = result.get(key)
            result[key] = merged(old if isinstance(old, Mapping) else {}, value)
        else:
            result[key] = value
    return result
