"""The checkpoints in an output folder: which there are, whether they are whole, which may go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from spotrain import contract
from spotrain.archive.confinement import opened_below
from spotrain.archive.errors import Refused
from spotrain.archive.job_store import JobStore
from spotrain.archive.records import CheckpointRecord
from spotrain.checkpoints.inventory import Inventory
from spotrain.checkpoints.manifest import Entry, Manifest, each_published
from spotrain.checkpoints.retention import Retention, prune
from spotrain.checkpoints.store import Store

_READING: Final = Lock()


def list_checkpoints(output: Path, place: str) -> list[CheckpointRecord]:
    """Newest first. Raises NotFound, Refused, OSError."""
    with _store(output, place) as store:
        return listed(store)


def verify_checkpoints(output: Path, place: str) -> Iterator[CheckpointRecord]:
    """The same, each told when all of its data has been read."""
    with _store(output, place) as store:
        yield from verified(store, before_each=store.give_time)


def prune_checkpoints(
    output: Path, place: str, retention: Retention, now: datetime | None = None
) -> list[str]:
    """Ids of those whose data is gone now."""
    with _store(output, place) as store:
        gone = prune(Inventory(store), retention, now=now or datetime.now(UTC))
    return [str(id) for id in gone]


def listed(store: Store) -> list[CheckpointRecord]:
    """Newest first. Raises OSError."""
    return [_record(entry) for entry in _entries(store)]


def verified(
    store: Store, before_each: Callable[[], None] = lambda: None
) -> Iterator[CheckpointRecord]:
    """The same, each told when all of its data has been read."""
    inventory = Inventory(store)
    for entry in _entries(store):
        if entry.manifest is None:
            yield _record(entry, intact=False)
            continue
        before_each()
        problem = inventory.damage(entry.manifest)
        yield _record(entry, intact=not problem, problem=problem)


def relative_place(place: str) -> str:
    """An output folder as a job names it, or from output/ on -> from output/ on.

    Raises Refused.
    """
    inside = PurePosixPath(contract.VOLUME_MOUNT) / contract.OUTPUT_DIR
    path = PurePosixPath(place)
    if path.is_absolute():
        if not path.is_relative_to(inside):
            raise Refused(f"{place!r} is not below {inside}, which is all that is looked after.")
        path = path.relative_to(inside)
    if not place or ".." in path.parts:
        raise Refused(f"{place!r} names no folder below {inside}; give one, such as {inside}/run1.")
    return str(path)


@contextmanager
def _store(output: Path, place: str) -> Iterator[JobStore]:
    relative = relative_place(place)
    with opened_below(output, relative) as folder:
        yield JobStore(folder, f"{contract.OUTPUT_DIR}/{relative}")


def _entries(store: Store) -> Iterator[Entry]:
    """Newest first, and read one at a time of all that are asked for: JSON can make 130 MiB of a
    manifest of 4 MiB, and somebody may have put there a hundred of them."""
    entries = each_published(store)
    while True:
        with _READING:
            entry = next(entries, None)
        if entry is None:
            return
        yield entry


def _record(entry: Entry, *, intact: bool | None = None, problem: str = "") -> CheckpointRecord:
    manifest: Manifest | None = entry.manifest
    return CheckpointRecord(
        id=str(entry.id),
        world=entry.id.world,
        step=entry.id.step,
        epoch=manifest.epoch if manifest else None,
        created_at=manifest.created_at if manifest else None,
        size_bytes=sum(file.size for file in manifest.files.values()) if manifest else None,
        intact=intact,
        problem=problem or entry.problem,
    )
