"""A catalogue of checkpoints on a shared file system, in which nobody ever sees half of one.

    w000003-s00000120.json              the manifest: its existence is the commit
    w000003-s00000120.k3x9q1ab/         the data of that attempt, written and synced before
    history/w000002-s00000080.json      manifests whose data was pruned: the lineage stays known

There is no mutable "latest": the newest complete manifest by (world, step) counts. A save of an
older world that arrives late therefore sorts before all that newer worlds have published.
"""

import contextlib
import logging
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import torch

from spotrain.train import durable
from spotrain.train.manifest import CheckpointId, Manifest, published
from spotrain.train.state import require_safe

__all__ = ["Catalogue", "CheckpointError", "CheckpointId", "Manifest", "Staged"]

log = logging.getLogger(__name__)

STATE_FILE: Final = "state.pt"
DRAFT: Final = "manifest.json"
HISTORY: Final = "history"
STALE_SECONDS: Final = 3600.0
"""Age at which data without a manifest counts as left over: no save takes an hour."""


class CheckpointError(RuntimeError):
    """A checkpoint could not be written or read; what was published before is untouched."""


@dataclass(frozen=True)
class Staged:
    """Data on disk that is no checkpoint yet: publish it once the commit is granted."""

    folder: Path
    manifest: Manifest

    def publish(self) -> Manifest:
        """Make it a checkpoint, in one step that either happens or does not.

        Create-only: whoever comes second with the same id gets an error and changes nothing.
        """
        id, directory = self.manifest.id, self.folder.parent
        try:
            durable.link_new(self.folder / DRAFT, directory / f"{id}.json")
        except FileExistsError as error:
            raise CheckpointError(
                f"checkpoint {id} is already published in {directory}, by an earlier attempt "
                "of the same world, and stays as it is: discard this one and save a later step"
            ) from error
        except OSError as error:
            raise _failed_save(id, directory, error) from error
        try:
            durable.sync_directory(directory)
        except OSError as error:
            log.warning("checkpoint %s is published, but a power cut may undo it: %s", id, error)
        return self.manifest

    def discard(self) -> None:
        """Remove data whose commit was refused; harmless where it is gone already."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Catalogue:
    """The checkpoints of one job. Any number of processes may read, prune and publish at once."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        self._hashed: set[durable.Identity] = set()

    def manifests(self) -> list[Manifest]:
        """Every published checkpoint that can be read, newest first by (world, step)."""
        entries = published(self.directory)
        for entry in entries:
            if entry.problem:
                log.warning("%s; it is skipped", entry.problem)
        return [entry.manifest for entry in entries if entry.manifest]

    def history(self) -> list[Manifest]:
        """All that was ever published, pruned ones included, newest first: the job's lineage."""
        pruned = Catalogue(self.directory / HISTORY).manifests()
        return sorted(self.manifests() + pruned, key=lambda manifest: manifest.id, reverse=True)

    def newest_intact(self) -> Manifest | None:
        """The newest checkpoint whose every byte is as it was written.

        The work in a damaged one is lost, and an operator has to learn that: each one passed over
        is logged as an error, with its file, what is wrong, and what is used in its place.
        """
        problems: list[str] = []
        chosen: Manifest | None = None
        for entry in published(self.directory):
            problem = self._damage(entry.manifest) if entry.manifest else entry.problem
            if not problem:
                chosen = entry.manifest
                break
            if not (self.directory / f"{entry.id}.json").exists():
                return self.newest_intact()  # pruned under our eyes: there is a newer one by now
            problems.append(problem)
        instead = f"using {chosen.id} instead" if chosen else "and no older one is intact"
        for problem in problems:
            log.error("%s; %s", problem, instead)
        return chosen

    def load(self, manifest: Manifest, *, map_location: Any = "cpu") -> dict[str, Any]:
        """The state as it was given to `stage`. Nothing in the file can run code."""
        path = self.directory / next(iter(manifest.files))
        try:
            state = torch.load(path, map_location=map_location, weights_only=True)
        except Exception as error:  # a damaged archive raises anything from KeyError to EOFError
            raise CheckpointError(
                f"checkpoint {manifest.id} cannot be loaded from {path}: {error}; newest_intact() "
                "finds the newest one that can"
            ) from error
        return cast(dict[str, Any], state)

    def stage(
        self,
        id: CheckpointId,
        state: Mapping[str, Any],
        *,
        epoch: int,
        cursor: int,
        parent: CheckpointId | None = None,
        extra: Mapping[str, Any] | None = None,
        created: str | None = None,
    ) -> Staged:
        """Write the data, synced to disk, in a folder of this attempt's own.

        A kill from here to `publish` leaves a folder that no manifest names; `prune` removes it.
        """
        require_safe(dict(state))
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with durable.new_folder(self.directory, f"{id}.") as folder:
                data = durable.save_state(folder / STATE_FILE, dict(state))
                self._hashed.add(durable.identity(folder / STATE_FILE))
                manifest = Manifest(
                    id=id,
                    epoch=epoch,
                    cursor=cursor,
                    parent=parent,
                    files={f"{folder.name}/{STATE_FILE}": data},
                    created=created or datetime.now(UTC).isoformat(timespec="milliseconds"),
                    extra=dict(extra or {}),
                )
                durable.write_new(folder / DRAFT, manifest.to_json().encode())
                durable.sync_directory(folder)
        except OSError as error:
            raise _failed_save(id, self.directory, error) from error
        return Staged(folder, manifest)

    def prune(self, keep: int) -> list[CheckpointId]:
        """Delete the data of all but the newest `keep` checkpoints; say which went.

        The newest intact one stays even when `keep` newer ones exist, all damaged. Manifests move
        to history/, so that a job's lineage can be audited to its beginning. Data without a
        manifest goes after an hour: it belongs to attempts that were killed or refused.
        """
        if keep < 1:
            raise ValueError(f"keep is {keep}, but must be at least 1: a job needs a way back")
        readable = [entry.manifest for entry in published(self.directory) if entry.manifest]
        old = readable[keep:]
        if old and not any(self._is_intact(manifest) for manifest in readable[:keep]):
            spared = next((manifest for manifest in old if self._is_intact(manifest)), None)
            old = [manifest for manifest in old if manifest is not spared]
        gone = [manifest.id for manifest in old if self._retire(manifest)]
        self._sweep()
        return gone

    def _damage(self, manifest: Manifest) -> str:
        for name, expected in manifest.files.items():
            if problem := durable.damage(self.directory / name, expected):
                return f"checkpoint {manifest.id} is damaged: {self.directory / name} {problem}"
        return ""

    def _is_intact(self, manifest: Manifest) -> bool:
        """Like `_damage`, but reads nothing that is untouched since this process hashed it.

        Pruning follows every save; reading a large checkpoint back each time would double its cost.
        """
        paths = [self.directory / name for name in manifest.files]
        try:
            found = {durable.identity(path) for path in paths}
        except OSError:
            return False
        if found <= self._hashed:
            return True
        if intact := not self._damage(manifest):
            self._hashed |= found
        return intact

    def _retire(self, manifest: Manifest) -> bool:
        """First the manifest, then the data: a kill in between leaves no half checkpoint."""
        history = self.directory / HISTORY
        name = f"{manifest.id}.json"
        try:
            history.mkdir(exist_ok=True)
            os.replace(self.directory / name, history / name)
            durable.sync_directory(self.directory)
        except FileNotFoundError:
            return False  # another process prunes too
        except OSError as error:  # no reason to stop training
            log.warning("checkpoint %s could not be pruned: %s", manifest.id, error)
            return False
        for folder in {self.directory / Path(file).parent for file in manifest.files}:
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def _sweep(self) -> None:
        """Remove old data folders that no manifest names."""
        entries = published(self.directory)
        manifests = [entry.manifest for entry in entries if entry.manifest]
        named = {Path(file).parts[0] for manifest in manifests for file in manifest.files}
        unreadable = {str(entry.id) for entry in entries if entry.manifest is None}
        for folder in self.directory.glob("w*-s*.*/"):
            if folder.name not in named and folder.name.split(".")[0] not in unreadable:
                with contextlib.suppress(FileNotFoundError):
                    if _age_seconds(folder) > STALE_SECONDS:
                        shutil.rmtree(folder, ignore_errors=True)


def _age_seconds(folder: Path) -> float:
    """Since anything in the folder was last written: a slow save in progress stays young."""
    newest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    return time.time() - newest


def _failed_save(id: CheckpointId, directory: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {id} could not be written to {directory}: {error}; nothing was published and "
        "older checkpoints are untouched: free space or mend the volume, the next save tries again"
    )
