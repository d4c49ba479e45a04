"""What is kept of a run, and how it comes back: tracked objects, position, random state."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from spotrain.agent.rank import Assignment
from spotrain.train import parts, randomness
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Manifest
from spotrain.train.loader import Position
from spotrain.train.manifest import published, read_manifest
from spotrain.train.pace import Cost, Pace
from spotrain.train.saver import Done, Outcome, Save, Saver
from spotrain.train.usage import UsageError

log = logging.getLogger(__name__)

PATIENT_SECONDS = 120.0
"""For the two saves that nothing may go on without, the first and the last one."""


class WorldEnded(Exception):
    """The present world is over: `train` is called again in the next one."""


class Tracked(Protocol):
    def state_dict(self) -> Any: ...
    def load_state_dict(self, state: Any, /) -> Any: ...


class Keeper:
    """Saves and restores one run. Rank 0 of a world saves; every rank restores."""

    def __init__(self, catalogue: Catalogue, saver: Saver, position: Position, pace: Pace) -> None:
        self.pace = pace
        self.tracked: dict[str, Tracked] = {}
        self.restored: CheckpointId | None = None
        """What the present world went on from."""
        self.saved_at = time.monotonic()
        self._catalogue = catalogue
        self._saver = saver
        self._position = position
        self._saved: CheckpointId | None = None
        self._held: CheckpointId | None = None
        """The checkpoint whose state is in memory right now, if it is exactly one's."""
        self._in_memory: CheckpointId | None = None
        """The same for a save that is no checkpoint yet."""

    @property
    def saved(self) -> CheckpointId | None:
        return self._saved

    def hold(self, id: CheckpointId | None) -> None:
        """Say which checkpoint the state in memory equals; None once it has moved on."""
        self._held = self._in_memory = id

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
        if found is None and published(self._catalogue.store):
            raise CheckpointError(
                f"every checkpoint in {self._catalogue.store} is damaged (see above), and "
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
        self.pace.take_up(manifest.extra)
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
        # Checked before it counts: after a restart the same script is refused again.
        check = self.pace.require_fit
        done = self._save(world, PATIENT_SECONDS, planned=False, check=check)
        if done.outcome is not Outcome.PUBLISHED:
            raise CheckpointError(
                f"the first checkpoint could not be written to {self._catalogue.store} (see "
                "above): training that cannot be resumed is not begun. Mend the volume or the path."
            )

    def save_last(self, world: int) -> bool:
        """Like `save`, but waits for a coordinator that is away."""
        return self._save(world, PATIENT_SECONDS, planned=True).outcome is Outcome.PUBLISHED

    def save(self, world: int) -> Outcome:
        """Save the present state for a planned change, while training waits.

        Raises:
            WorldEnded: the coordinator refused it, because a newer world is on.
        """
        return self._save(world, 0.0, planned=True).outcome

    def _save(
        self,
        world: int,
        patience_seconds: float,
        *,
        planned: bool,
        check: Callable[[Cost], None] | None = None,
    ) -> Done:
        self._take(self._saver.wait(), world)
        id = CheckpointId(world, self._position.step)
        if id in (self._held, self._saved):
            return Done(id, Outcome.PUBLISHED)
        self.saved_at = time.monotonic()
        self._in_memory = id
        save = self._present(id, planned=planned)
        done = self._saver.save_now(save, patience_seconds=patience_seconds, check=check)
        self._take(done, world)
        if done.outcome is Outcome.UNANSWERED and patience_seconds > 0:
            raise WorldEnded(
                "the coordinator does not answer, and nothing may go on without this save"
            )
        return done

    def start_save(self, world: int) -> None:
        """Save the present state while training goes on; one that is still going on goes first."""
        if self._saver.is_busy:
            self._saver.hurry()
            return
        self.saved_at = time.monotonic()
        self._in_memory = CheckpointId(world, self._position.step)
        self._saver.start(self._present(self._in_memory, planned=False))

    def look_after_saves(self, world: int) -> None:
        """Take note of a save that has ended meanwhile.

        Raises:
            WorldEnded: the coordinator refused it, because a newer world is on.
        """
        done = self._saver.poll()
        if done is not None and done.cost is not None:
            self.pace.note(done.cost)
        self._take(done, world)

    def _take(self, done: Done | None, world: int) -> None:
        if done is None or done.id.world != world:
            return
        if done.outcome is Outcome.REFUSED:
            raise WorldEnded(f"checkpoint {done.id} was refused: a newer world is on")
        if done.outcome is Outcome.PUBLISHED:
            self._saved = done.id
            if self._in_memory == done.id:
                self._held = done.id

    def _present(self, id: CheckpointId, *, planned: bool) -> Save:
        tracked = {name: object.state_dict() for name, object in self.tracked.items()}
        return Save(
            id=id,
            part=parts.plan({"tracked": tracked, "random": randomness.get_state()}),
            epoch=self._position.epoch,
            cursor=self._position.cursor,
            parent=self.restored,
            extra={
                "seed": self._position.seed,
                "size": self._position.size,
                **self.pace.to_extra(planned=planned),
            },
        )

    def _find(self, id: CheckpointId) -> Manifest:
        store = self._catalogue.store
        try:
            return read_manifest(store, id)
        except (OSError, ValueError, KeyError) as error:
            raise WorldEnded(f"checkpoint {id} cannot be read from {store}: {error}") from error

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
