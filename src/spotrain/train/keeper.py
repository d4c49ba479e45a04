"""What is kept of a run, and how it comes back: tracked objects and position."""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from spotrain.agent.rank import Assignment
from spotrain.checkpoints.manifest import published
from spotrain.train import parts
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId
from spotrain.train.group import Group
from spotrain.train.pace import Cost, Pace
from spotrain.train.position import Position
from spotrain.train.restoring import Tracked, find, load_into, require_same_data, require_same_names
from spotrain.train.saver import Done, Gather, Outcome, Save, Saver, alone
from spotrain.train.sharding import Gathering, exchange, has_shards, with_shards
from spotrain.train.usage import WorldEnded

log = logging.getLogger(__name__)

PATIENT_SECONDS = 120.0
"""For the two saves that nothing may go on without, the first and the last one."""


class Keeper:
    """Saves and restores one run. Rank 0 of a world saves (all do, if sharded); all restore."""

    def __init__(self, catalogue: Catalogue, saver: Saver, position: Position, pace: Pace) -> None:
        self.pace = pace
        self.group: Group
        """Of the present world."""
        self.tracked: dict[str, Tracked] = {}
        self.is_sharded = False
        """All ranks save and restore together, each one its own part."""
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

    def track(self, objects: Mapping[str, Tracked]) -> None:
        self.is_sharded = any(has_shards(object) for object in objects.values())
        self.tracked = with_shards(objects) if self.is_sharded else dict(objects)

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
            others = (self._catalogue.newest_published(), named)
            if all(other is None or other <= self._held for other in others):
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

    def restore(self, id: CheckpointId, *, is_main: bool, device: torch.device) -> None:
        """Bring back checkpoint `id`, unless it is what memory holds anyway."""
        self.restored = id
        if self._held == id:
            return
        manifest = find(self._catalogue.store, id)
        require_same_data(manifest, self._position.size)
        like = {"tracked": self._states()} if self.is_sharded else None
        state = self._catalogue.load(manifest, map_location=device, like=like)
        require_same_names(id, tracked=self.tracked, found=state["tracked"])
        for name, object in self.tracked.items():
            load_into(object, state["tracked"][name], id=id, name=name)
        position = self._position
        if is_main:
            log.info("goes on from %s: epoch %d, sample %d", id, manifest.epoch, manifest.cursor)
        position.step, position.epoch, position.cursor = id.step, manifest.epoch, manifest.cursor
        position.seed = int(manifest.extra["seed"])
        self.pace.take_up(manifest.extra)
        self._held = id

    def begin(self, world: int) -> None:
        """The first checkpoint, before the first step.

        A volume that cannot be written shows before money is spent, and from here on there always
        is a state to go back to.
        """
        # Checked before it counts: after a restart the same script is refused again.
        check = self.pace.require_fit
        done = self._save(world, PATIENT_SECONDS, planned=False, check=check)
        if done.outcome not in (Outcome.PUBLISHED, Outcome.HANDED_OVER):
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
        if self._is_kept(id):
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

    def is_save_due(self) -> bool:
        """Whether it is worth saving again; a save that is still going on has to end first."""
        if time.monotonic() - self.saved_at < self.pace.seconds:
            return False
        if self._saver.is_busy:
            self._saver.hurry()
            return False
        return True

    def start_save(self, world: int) -> None:
        """Save the present state while training goes on."""
        with self._position.waited.for_save():
            self._take(self._saver.wait(), world)  # nothing is running, unless this is one of many
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
        state = {"tracked": self._states()}
        if self.is_sharded:
            group, rank = self.group, self.group.place.rank
            folder = group.scatter(
                [self._catalogue.new_folder(id)] * group.place.world_size if rank == 0 else None
            )
            part = parts.plan(state, rank=rank, exchange=partial(exchange, group))
            gather: Gather = Gathering(group, folder, self._saver.is_over)
        else:
            folder, part, gather = "", parts.plan(state), alone
        return Save(
            id=id,
            part=part,
            folder=folder,
            gather=gather,
            epoch=self._position.epoch,
            cursor=self._position.cursor,
            parent=self.restored,
            extra={
                "seed": self._position.seed,
                "size": self._position.size,
                **self.pace.to_extra(planned=planned),
            },
        )

    def _states(self) -> dict[str, Any]:
        return {name: object.state_dict() for name, object in self.tracked.items()}

    def _is_kept(self, id: CheckpointId) -> bool:
        """Whether the present state is a checkpoint already: the same answer on all that save."""
        kept = id in (self._held, self._saved)
        return bool(self.group.tell([kept])[0]) if self.is_sharded else kept
