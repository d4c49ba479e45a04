"""Which checkpoints stay: the newest few, none that is too old, and always a way back."""

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Final

from spotrain.checkpoints.inventory import Inventory
from spotrain.checkpoints.manifest import (
    UNREADABLE,
    CheckpointId,
    Manifest,
    each_published,
    manifest_name,
)
from spotrain.checkpoints.store import Store, read

log = logging.getLogger(__name__)

HISTORY: Final = "history"
STALE_SECONDS: Final = 3600.0
"""Age at which data without a manifest counts as left over: no save takes an hour."""


@dataclass(frozen=True)
class Retention:
    """How many checkpoints stay, and how long.

    Raises:
        ValueError: nothing would stay.
    """

    keep: int = 3
    keep_hours: float | None = None
    """None: for as long as they are among the newest."""

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep is {self.keep}, but must be at least 1: a job needs a way back")
        if self.keep_hours is not None and not self.keep_hours > 0:
            raise ValueError(
                f"keep_hours is {self.keep_hours}, but must be above 0: every checkpoint would be "
                "too old at once. Leave it out to keep the newest ones however old they are."
            )

    def retired(self, manifests: Sequence[Manifest], now: datetime) -> list[Manifest]:
        """Those of `manifests`, newest first, whose data may go; never the first."""
        return [
            manifest
            for number, manifest in enumerate(manifests)
            if number >= self.keep or (number > 0 and self._is_too_old(manifest, now))
        ]

    def _is_too_old(self, manifest: Manifest, now: datetime) -> bool:
        if self.keep_hours is None:
            return False
        return now - manifest.created_at > timedelta(hours=self.keep_hours)


def prune(
    catalogue: Inventory, retention: Retention, *, now: datetime | None = None
) -> list[CheckpointId]:
    """Delete the data of checkpoints that need not stay; say which went.

    The newest intact one stays even when newer ones exist, all damaged. Manifests move to history/,
    so that a job's lineage can be audited to its beginning. Data without a manifest goes after an
    hour: it belongs to attempts that were killed or refused.
    """
    store = catalogue.store
    readable = [entry.manifest for entry in each_published(store) if entry.manifest]
    old = retention.retired(readable, now or datetime.now(UTC))
    going = {manifest.id for manifest in old}
    staying = [manifest for manifest in readable if manifest.id not in going]
    if old and not any(catalogue.is_intact(manifest) for manifest in staying):
        spared = next((manifest for manifest in old if catalogue.is_intact(manifest)), None)
        old = [manifest for manifest in old if manifest is not spared]
    gone = [manifest.id for manifest in old if _retire(store, manifest)]
    try:
        _sweep(store)
    except OSError as error:
        log.warning("data that killed saves left in %s could not be removed: %s", store, error)
    return gone


def history(catalogue: Inventory) -> list[Manifest]:
    """All that was ever published, pruned ones included, newest first: the job's lineage."""
    store = catalogue.store
    found = {manifest.id: manifest for manifest in catalogue.manifests()}
    for name in store.files(HISTORY):
        with contextlib.suppress(*UNREADABLE):
            manifest = Manifest.from_json(read(store, name).decode())
            found.setdefault(manifest.id, manifest)
    return [found[id] for id in sorted(found, reverse=True)]


def _retire(store: Store, manifest: Manifest) -> bool:
    """First the manifest, then the data: a kill in between leaves no half checkpoint."""
    name = manifest_name(manifest.id)
    try:
        store.move(name, f"{HISTORY}/{name}")
    except FileNotFoundError:
        return False  # another process prunes too
    except OSError as error:  # no reason to stop training
        log.warning("checkpoint %s could not be pruned: %s", manifest.id, error)
        return False
    store.remove(manifest.folder)
    return True


def _sweep(store: Store) -> None:
    """Remove old data folders that no manifest names."""
    folders = [folder for folder in store.folders() if "." in folder and folder[0] == "w"]
    named, unreadable = set(), set()
    for entry in each_published(store):
        if entry.manifest is not None:
            named.add(entry.manifest.folder)
        else:
            unreadable.add(str(entry.id))
    for folder in folders:
        if folder not in named and PurePosixPath(folder).stem not in unreadable:
            with contextlib.suppress(FileNotFoundError):
                if store.age_seconds(folder) > STALE_SECONDS:
                    store.remove(folder)
