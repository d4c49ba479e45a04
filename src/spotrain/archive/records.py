"""What the archive tells beside the ledger's entries: jobs, lines of logs, checkpoints. Pure."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter

from spotrain.ledger.entries import AnyEntry, CamelCase, StayEntry, from_document

logger = logging.getLogger(__name__)

JOB: str = "job"
"""`kind` of a job's own line among the entries of its ledger."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class JobRecord(CamelCase):
    """A job that there is, or was."""

    name: str
    uid: str
    created_at: datetime
    ended_at: datetime | None = None
    outcome: str = ""
    """succeeded, failed, deleted; empty: it has not ended."""
    message: str = ""
    """Why it ended so, in the controller's words."""
    deleted_at: datetime | None = None
    """When its object was seen to be gone: nothing more will be written down of it."""
    researcher: str = ""
    min_workers: int | None = None
    """Below which it waits, as it was last told; None: an earlier version wrote this down."""


@dataclass(frozen=True, kw_only=True)
class JobLedger:
    """A job and all that was written down of it, oldest first."""

    job: JobRecord
    entries: tuple[AnyEntry, ...]


@dataclass(frozen=True, kw_only=True)
class JobStay:
    """A stay, and whose it was."""

    job: str
    job_uid: str
    stay: StayEntry


@dataclass(frozen=True, kw_only=True)
class LogLine(CamelCase):
    """One line of a worker's output."""

    at: str
    """UTC with nine digits after the second, so that it sorts as text."""
    worker: int
    pod: str
    line: str
    pod_uid: str = ""


@dataclass(frozen=True, kw_only=True)
class EventFile(CamelCase):
    """What a job writes for TensorBoard."""

    path: str
    """From the output folder that was asked for."""
    size: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class CheckpointRecord(CamelCase):
    """A published checkpoint of an output folder, newest first in every list."""

    id: str
    world: int
    step: int
    epoch: int | None = None
    created_at: datetime | None = None
    size_bytes: int | None = None
    """None, as the two above: its manifest cannot be read, and `problem` says why."""
    intact: bool | None = None
    """Whether every byte is as it was written; None: nobody has looked."""
    problem: str = ""


def to_document(record: Any) -> dict[str, Any]:
    """A record as JSON holds it."""
    document: dict[str, Any] = _codec(type(record)).dump_python(
        record, mode="json", by_alias=True, exclude_none=True
    )
    return document


def read_record(kind: type[T], document: Any) -> T:
    """Raises ValueError (pydantic's) where `document` is none of that kind."""
    return _codec(kind).validate_python(document, by_alias=True)


def known_entries(documents: Iterable[Mapping[str, Any]]) -> Iterator[AnyEntry]:
    """The entries among them: a later version may write, or send, kinds that this one has not."""
    for document in documents:
        if entry := known_entry(document):
            yield entry


def known_entry(document: Mapping[str, Any]) -> AnyEntry | None:
    try:
        return from_document(document)
    except ValueError:
        logger.warning("an entry of kind %r is unknown here", document.get("kind"))
        return None


_codecs: dict[type, TypeAdapter[Any]] = {}
"""Each takes a millisecond to make."""


def _codec(kind: type[T]) -> TypeAdapter[T]:
    if kind not in _codecs:
        _codecs[kind] = TypeAdapter(kind)
    return _codecs[kind]
