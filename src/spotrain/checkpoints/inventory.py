"""Which checkpoints a store has, and whether they are as they were written."""

import hashlib
import logging
from collections.abc import Hashable
from pathlib import Path

from spotrain.checkpoints.manifest import (
    CheckpointId,
    DataFile,
    Manifest,
    manifest_name,
    published,
)
from spotrain.checkpoints.store import Store, open_store

log = logging.getLogger(__name__)


class Inventory:
    """The checkpoints of one job. Any number of processes may read, prune and publish at once."""

    def __init__(self, place: str | Path | Store) -> None:
        self.store = open_store(place) if isinstance(place, str | Path) else place
        self._hashed: set[Hashable] = set()

    def manifests(self) -> list[Manifest]:
        """Every published checkpoint that can be read, newest first by (world, step)."""
        entries = published(self.store)
        for entry in entries:
            if entry.problem:
                log.warning("%s; it is skipped", entry.problem)
        return [entry.manifest for entry in entries if entry.manifest]

    def newest_published(self) -> CheckpointId | None:
        """The newest checkpoint whose manifest can be read, whether its data is intact or not."""
        return next((manifest.id for manifest in self.manifests()), None)

    def newest_intact(self) -> Manifest | None:
        """The newest checkpoint whose every byte is as it was written.

        The work in a damaged one is lost, and an operator has to learn that: each one passed over
        is logged as an error, with its file, what is wrong, and what is used in its place.
        """
        problems: list[str] = []
        chosen: Manifest | None = None
        for entry in published(self.store):
            problem = self.damage(entry.manifest) if entry.manifest else entry.problem
            if not problem:
                chosen = entry.manifest
                break
            if manifest_name(entry.id) not in self.store.files():
                return self.newest_intact()  # pruned under our eyes: there is a newer one by now
            problems.append(problem)
        instead = f"using {chosen.id} instead" if chosen else "and no older one is intact"
        for problem in problems:
            log.error("%s; %s", problem, instead)
        return chosen

    def is_intact(self, manifest: Manifest) -> bool:
        """Like `newest_intact`, but reads nothing that is untouched since this process hashed it.

        Pruning follows every save; reading a large checkpoint back each time would double its cost.
        """
        try:
            found = self._identities(manifest)
        except OSError:
            return False
        if found <= self._hashed:
            return True
        if intact := not self.damage(manifest):
            self._hashed |= found
        return intact

    def trust(self, manifest: Manifest) -> None:
        """This process has just written its data, and needs not read it back."""
        self._hashed |= self._identities(manifest)

    def damage(self, manifest: Manifest) -> str:
        """What is wrong with its data, all of which is read; or nothing."""
        for name, expected in manifest.files.items():
            if problem := damage(self.store, name, expected):
                return f"checkpoint {manifest.id} is damaged: {self.store}/{name} {problem}"
        return ""

    def _identities(self, manifest: Manifest) -> set[Hashable]:
        return {self.store.identity(name) for name in manifest.files}


def damage(store: Store, name: str, expected: DataFile) -> str:
    """What is wrong with a file, or nothing."""
    try:
        if (size := store.size(name)) != expected.size:
            return f"has {size} bytes instead of {expected.size}"
        digest = hashlib.sha256()
        for chunk in store.chunks(name):
            digest.update(chunk)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error}"
    return "" if digest.hexdigest() == expected.sha256 else "has changed: its SHA-256 differs"
