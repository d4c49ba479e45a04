"""A catalogue of checkpoints in a store, in which nobody ever sees half of one.

    w000003-s00000120.json              the manifest: its existence is the commit
    w000003-s00000120.9f86d081/         the data of that attempt, durable before the commit
        data-00000.bin ...              one file a rank that writes: blocks of tensors
        index.json                      which tensor lies where
        manifest.json                   the manifest, before it was published
    history/w000002-s00000080.json      manifests whose data was pruned: the lineage stays known

There is no mutable "latest": the newest complete manifest by (world, step) counts. A save of an
older world that arrives late therefore sorts before all that newer worlds have published.
"""

import contextlib
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

import torch

from spotrain.checkpoints.inventory import Inventory
from spotrain.checkpoints.manifest import CheckpointId, Manifest, manifest_name
from spotrain.checkpoints.store import Store, read
from spotrain.train import loading, parts
from spotrain.train.index import Index, merge
from spotrain.train.parts import Part, Written

__all__ = ["Catalogue", "CheckpointError", "CheckpointId", "Manifest", "Staged"]

log = logging.getLogger(__name__)

INDEX: Final = "index.json"
DRAFT: Final = "manifest.json"


class CheckpointError(RuntimeError):
    """A checkpoint could not be written or read; what was published before is untouched."""


@dataclass(frozen=True)
class Staged:
    """Data in the store that is no checkpoint yet: publish it once the commit is granted."""

    store: Store
    manifest: Manifest

    @property
    def folder(self) -> str:
        return self.manifest.folder

    def publish(self) -> Manifest:
        """Make it a checkpoint, in one step that either happens or does not.

        Create-only: whoever comes second with the same id gets an error and changes nothing.
        """
        id = self.manifest.id
        try:
            self.store.publish(f"{self.folder}/{DRAFT}", manifest_name(id))
        except FileExistsError as error:
            raise CheckpointError(
                f"checkpoint {id} is already published in {self.store}, by an earlier attempt "
                "of the same world, and stays as it is: discard this one and save a later step"
            ) from error
        except OSError as error:
            raise failed_save(id, self.store, error) from error
        return self.manifest

    def discard(self) -> None:
        """Remove data whose commit was refused; harmless where it is gone already."""
        self.store.remove(self.folder)


class Catalogue(Inventory):
    """The checkpoints of one job, to be read and written."""

    def load(
        self,
        manifest: Manifest,
        *,
        map_location: str | torch.device = "cpu",
        like: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The state as it was given to `stage`. Nothing in the files can run code.

        `like`: a state whose sharded tensors are filled in place, each with its own block.
        """
        name, device = f"{manifest.folder}/{INDEX}", torch.device(map_location)
        try:
            index = Index.from_json(read(self.store, name))
            state = loading.load(self.store, manifest.folder, index, device=device, like=like)
        except Exception as error:  # damaged data raises anything from KeyError to EOFError
            raise CheckpointError(
                f"checkpoint {manifest.id} cannot be loaded from {self.store}/{manifest.folder}: "
                f"{error}; newest_intact() finds the newest one that can"
            ) from error
        return cast(dict[str, Any], state)

    def stage(self, id: CheckpointId, state: Mapping[str, Any], **about: Any) -> Staged:
        """Write a state that this process has all of, durably, in a folder of this attempt's own.

        `about`: as `describe` takes it. A kill from here to `publish` leaves a folder that no
        manifest names; it is removed later.
        """
        part = parts.plan(state)
        return self.describe(id, [self.write(id, self.new_folder(id), part)], **about)

    def new_folder(self, id: CheckpointId) -> str:
        """A name for the data of one attempt, which no other attempt uses."""
        return f"{id}.{secrets.token_hex(4)}"

    def write(self, id: CheckpointId, folder: str, part: Part) -> Written:
        """Write one rank's part; a failed attempt leaves nothing of it."""
        with self._attempt(id, folder):
            return parts.write(self.store, folder, part)

    def describe(
        self,
        id: CheckpointId,
        written: Sequence[Written],
        *,
        epoch: int,
        cursor: int,
        parent: CheckpointId | None = None,
        extra: Mapping[str, Any] | None = None,
        created: str | None = None,
    ) -> Staged:
        """Add index and manifest to the parts of all ranks."""
        folder = written[0].name.split("/")[0]
        with self._attempt(id, folder):
            index = merge(part.index for part in written).to_json().encode()
            name = f"{folder}/{INDEX}"
            files = {part.name: part.file for part in written}
            files[name] = parts.write_bytes(self.store, name, index)
            manifest = Manifest(
                id=id,
                epoch=epoch,
                cursor=cursor,
                parent=parent,
                files=files,
                created=created or datetime.now(UTC).isoformat(timespec="milliseconds"),
                extra=dict(extra or {}),
            )
            parts.write_bytes(self.store, f"{folder}/{DRAFT}", manifest.to_json().encode())
            self.trust(manifest)
        return Staged(self.store, manifest)

    @contextlib.contextmanager
    def _attempt(self, id: CheckpointId, folder: str) -> Iterator[None]:
        """What fails in here leaves nothing of its folder."""
        try:
            yield
        except BaseException as error:
            self.store.remove(folder)
            if isinstance(error, OSError):
                raise failed_save(id, self.store, error) from error
            raise


def failed_save(id: CheckpointId, store: Store, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {id} could not be written to {store}: {error}; nothing was published and "
        "older checkpoints are untouched: free space or mend the volume, the next save tries again"
    )
