"""What is kept of a run, and how it comes back: tracked objects, position, random state."""

import logging
import time
from collections.abc import Mapping
from typing import Any, Protocol

import torch

from spotrain.agent.rank import Assignment, Channel
from spotrain.train import randomness
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Manifest
from spotrain.train.loader import Position
from spotrain.train.solo import SoloChannel

log = logging.getLogger(__name__)

COMMIT_SECONDS = 5.0
"""The coordinator answers in milliseconds or is away; then this save stays uncommitted."""
PATIENT_ATTEMPTS = 24
"""For the two saves that nothing may go on without, the first and the last one: two minutes."""


class WorldEnded(Exception):
    """The present world is over: `train` is called again in the next one."""


class UsageError(RuntimeError):
    """The training function used the run in a way that would lose work."""


class Tracked(Protocol):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state: Any, /) -> Any: ...


class Keeper:
    """Saves and restores one run. Rank 0 of a world saves; every rank restores."""

    def __init__(
        self, catalogue: Catalogue, channel: Channel | SoloChannel, position: Position, *, keep: int
    ) -> None:
        self.tracked: dict[str, Tracked] = {}
        self.restored: CheckpointId | None = None
        """What the present world went on from."""
        self.saved_at = time.monotonic()
        self._catalogue = catalogue
        self._channel = channel
        self._position = position
        self._keep = keep
        self._unanswered = False
        self._saved: CheckpointId | None = None
        self._held: CheckpointId | None = None
        """The checkpoint whose state is in memory right now, if it is exactly one's."""

    @property
    def saved(self) -> CheckpointId | None:
        return self._saved

    def hold(self, id: CheckpointId | None) -> None:
        """Say which checkpoint the state in memory equals; None once it has moved on."""
        self._held = id

    def newest(self, place: Assignment) -> CheckpointId | None:
        """What rank 0 proposes to go on from: the newest intact checkpoint, or what it holds.

        What it holds is the newest, unless it was a spare while others trained on.
        """
        named = CheckpointId(*place.restore) if place.restore else None
        if self._held is not None:
            listed = [manifest.id for manifest in self._catalogue.manifests()[:1]]
            if self._held >= max([self._held, *listed, *([named] if named else [])]):
                return self._held
        manifest = self._catalogue.newest_intact()
        found = manifest.id if manifest is not None else None
        if found is None and any(self._catalogue.directory.glob("w*-s*.json")):
            raise CheckpointError(
                f"every checkpoint in {self._catalogue.directory} is damaged (see above), and "
                "training does not silently begin anew over them: move that folder away to begin "
                "from nothing, or train into another output"
            )
        if named is not None and (found is None or found < named):
            log.error("checkpoint %s was committed, but %s is used", named, found or "none")
        return found

    def restore(self, id: CheckpointId, *, is_main: bool, rank: int, device: torch.device) -> None:
        """Bring back checkpoint `id`, unless it is what memory holds anyway."""
        self.restored = id
        if self._held == id:
            return
        manifest = self._find(id)
        self._require_fit(manifest)
        state = self._catalogue.load(manifest, map_location=device)
        self._require_names(id, state["tracked"])
        for name, object in self.tracked.items():
            self._load_one(id, name, object, state["tracked"][name])
        position = self._position
        if is_main:
            log.info("goes on from %s: epoch %d, sample %d", id, manifest.epoch, manifest.cursor)
        position.step, position.epoch, position.cursor = id.step, manifest.epoch, manifest.cursor
        position.seed = int(manifest.extra["seed"])
        if is_main:
            randomness.set_state(state["random"])
        else:
            randomness.seed_all(position.seed, rank, id.step)
        self._held = id

    @staticmethod
    def _load_one(id: CheckpointId, name: str, object: Tracked, state: Any) -> None:
        try:
            object.load_state_dict(state)
        except (RuntimeError, ValueError, KeyError) as error:
            first = " ".join(str(error).split())[:200]
            raise UsageError(
                f"checkpoint {id} does not fit {name}: {first} ... It was written by another "
                "version of the script: train into another output."
            ) from error

    def begin(self, world: int) -> None:
        """The first checkpoint, before the first step.

        A volume that cannot be written shows before money is spent, and from here on there always
        is a state to go back to.
        """
        if not self.save_patiently(world):
            raise CheckpointError(
                f"the first checkpoint could not be written to {self._catalogue.directory} (see "
                "above): training that cannot be resumed is not begun. Mend the volume or the path."
            )

    def save_patiently(self, world: int) -> bool:
        """Like `save`, but waits for a coordinator that is away."""
        for _ in range(PATIENT_ATTEMPTS):
            if self.save(world):
                return True
            if not self._unanswered:
                return False
        raise WorldEnded("the coordinator does not answer, and nothing may go on without this save")

    def save(self, world: int) -> bool:
        """Whether the present state is committed: written, accepted, published.

        Raises:
            WorldEnded: the coordinator refused it, because a newer world is on.
        """
        id = CheckpointId(world, self._position.step)
        if id in (self._held, self._saved):
            return True
        self.saved_at = time.monotonic()
        self._unanswered = False
        try:
            if not self._commit(id):
                return False
        except CheckpointError as error:
            log.error("%s", error)
            return False
        self._channel.saved(id.world, id.step)
        self._saved = self._held = id
        self._catalogue.prune(self._keep)
        return True

    def _commit(self, id: CheckpointId) -> bool:
        staged = self._catalogue.stage(
            id,
            self._state(),
            epoch=self._position.epoch,
            cursor=self._position.cursor,
            parent=self.restored,
            extra={"seed": self._position.seed, "size": self._position.size},
        )
        accepted = self._channel.ask_commit(id.world, id.step, timeout_seconds=COMMIT_SECONDS)
        if accepted:
            staged.publish()
            return True
        staged.discard()
        if accepted is not None:
            raise WorldEnded(f"checkpoint {id} was refused: a newer world is on")
        self._unanswered = True
        log.warning("checkpoint %s stays uncommitted: the coordinator does not answer", id)
        return False

    def _state(self) -> Mapping[str, Any]:
        tracked = {name: object.state_dict() for name, object in self.tracked.items()}
        return {"tracked": tracked, "random": randomness.get_state()}

    def _find(self, id: CheckpointId) -> Manifest:
        """By its exact name: an NFS client may not list yet what another one has just written."""
        path = self._catalogue.directory / f"{id}.json"
        try:
            return Manifest.from_json(path.read_text())
        except (OSError, ValueError, KeyError) as error:
            raise WorldEnded(f"checkpoint {id} cannot be read from {path}: {error}") from error

    def _require_fit(self, manifest: Manifest) -> None:
        size = manifest.extra.get("size")
        if size != self._position.size:
            raise UsageError(
                f"checkpoint {manifest.id} belongs to a data set of {size} samples, this one has "
                f"{self._position.size}: its position means nothing here. Use another output."
            )

    def _require_names(self, id: CheckpointId, found: Mapping[str, Any]) -> None:
        odd = sorted(set(self.tracked) ^ set(found))
        if odd:
            raise UsageError(
                f"checkpoint {id} and run.track differ in {', '.join(odd)}: it was written by "
                "another version of the script. Track the same names, or use another output."
            )


def newest_world(catalogue: Catalogue) -> int:
    """The newest world that has published a checkpoint; 0 if none has."""
    manifests = catalogue.manifests()
    return manifests[0].id.world if manifests else 0
