"""What a checkpoint says about itself, as a JSON file that a person can read."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from spotrain.checkpoints.store import Store, read

SUFFIX: Final = ".json"
UNREADABLE: Final = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What reading raises where a manifest is missing, out of reach, or not one at all."""
LARGEST: Final = (1 << 63) - 1
REASON: Final = 300
"""Characters of why one cannot be read: it quotes what stands there, which may be megabytes."""


@dataclass(frozen=True)
class DataFile:
    """How to tell whether a file is as it was written."""

    size: int
    sha256: str


@dataclass(frozen=True, order=True)
class CheckpointId:
    """Which world saved, and after which step of the run. Ids order as (world, step)."""

    world: int
    step: int

    def __str__(self) -> str:
        return f"w{self.world:06d}-s{self.step:08d}"

    @classmethod
    def parse(cls, text: str) -> "CheckpointId":
        if not (match := re.fullmatch(r"w(\d{6,})-s(\d{8,})", text)):
            raise ValueError(f"{text!r} is no checkpoint id: expected the form w000003-s00000120")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a checkpoint is, where its data lies and how to tell that the data is whole."""

    id: CheckpointId
    epoch: int
    cursor: int
    """Samples of the epoch that all ranks together had consumed."""
    parent: CheckpointId | None
    """What this world restored or went on from; None where it began the job."""
    files: Mapping[str, DataFile]
    """By name in the store."""
    created: str
    """ISO 8601, with its offset from UTC."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        document = dataclasses.asdict(self)
        document |= {"id": str(self.id), "parent": self.parent and str(self.parent)}
        return json.dumps(document, indent=2) + "\n"

    @property
    def folder(self) -> str:
        """Where the data lies."""
        return next(iter(self.files)).split("/")[0]

    @property
    def created_at(self) -> datetime:
        return _moment(self.created)

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Raises one of `UNREADABLE` for anything else."""
        document = json.loads(text)
        id = CheckpointId.parse(document["id"])
        files = {
            name: DataFile(size=_whole(entry["size"]), sha256=str(entry["sha256"]))
            for name, entry in document["files"].items()
        }
        folders = {name.split("/")[0] for name in files}
        if len(folders) != 1 or not all(_is_own(name, id) for name in files):
            # Pruning removes the folder of a file: "../x" or "x" would take far more with it.
            raise ValueError(f"files {sorted(files)} must have the form {id}.<attempt>/<file>")
        parent, created = document["parent"], str(document["created"])
        _moment(created)
        return cls(
            id=id,
            epoch=_whole(document["epoch"]),
            cursor=_whole(document["cursor"]),
            parent=CheckpointId.parse(parent) if parent else None,
            files=files,
            created=created,
            extra=dict(document["extra"]),
        )


def _whole(value: Any) -> int:
    if not 0 <= (number := int(value)) <= LARGEST:
        raise ValueError(f"{str(number)[:20]} is no whole number from 0 to {LARGEST}")
    return number


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"created is {text[:40]!r}, which lacks its offset from UTC")
    return at.astimezone(UTC)


def _is_own(name: str, id: CheckpointId) -> bool:
    return re.fullmatch(rf"{id}\.\w+/\w[\w.-]*", name) is not None


@dataclass(frozen=True)
class Entry:
    """A published name: its manifest, or why there is none to read."""

    id: CheckpointId
    manifest: Manifest | None
    problem: str = ""


def published(store: Store) -> list[Entry]:
    """Every checkpoint that a store names, newest first."""
    return list(filter(None, map(partial(_entry, store), _ids(store))))


def each_published(store: Store) -> Iterator[Entry]:
    """The same, for who looks after checkpoints of any number and size: each is read when it is
    asked for, and comes without what its script has added (`Manifest.extra`)."""
    return filter(None, map(partial(_entry_without_extra, store), _ids(store)))


def _ids(store: Store) -> list[CheckpointId]:
    ids = {id for name in store.files() if (id := _id_of(name)) is not None}
    return sorted(ids, reverse=True)


def _id_of(name: str) -> CheckpointId | None:
    """None: it is not one of ours."""
    try:
        return CheckpointId.parse(name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else "")
    except ValueError:
        return None


def _entry(store: Store, id: CheckpointId) -> Entry | None:
    """None: it was pruned since the files were listed."""
    try:
        return Entry(id, read_manifest(store, id))
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"[:REASON]
        where = f"{store}/{manifest_name(id)}"
        return Entry(id, None, f"manifest {where} cannot be read ({reason})")


def _entry_without_extra(store: Store, id: CheckpointId) -> Entry | None:
    entry = _entry(store, id)
    if entry is None or entry.manifest is None:
        return entry
    return replace(entry, manifest=replace(entry.manifest, extra={}))


def manifest_name(id: CheckpointId) -> str:
    """Under which a store has the manifest of a published checkpoint."""
    return f"{id}{SUFFIX}"


def read_manifest(store: Store, id: CheckpointId) -> Manifest:
    """By its exact name: an NFS client may not list yet what another one has just written."""
    manifest = Manifest.from_json(read(store, manifest_name(id)).decode())
    if manifest.id != id:
        raise ValueError(f"it says that it is {manifest.id}")
    return manifest
