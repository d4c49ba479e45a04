"""One process's way through the worlds of its job: it enters, settles, changes and leaves them."""

import os
import time
from enum import IntEnum

import torch

from spotrain.agent.rank import Assignment, Channel
from spotrain.agent.ways import Way, read_ways
from spotrain.train import randomness
from spotrain.train.checkpoint import CheckpointId
from spotrain.train.early_return import EarlyReturns
from spotrain.train.group import Group, leave_world
from spotrain.train.keeper import Keeper
from spotrain.train.parallel import Elastic
from spotrain.train.position import Position
from spotrain.train.progress import Progress
from spotrain.train.saver import Outcome
from spotrain.train.sharding import forget_meshes
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import PeerLost, WorldChanged, WorldEnded, is_lost_peer

CHANGE_RETRY_SECONDS = 5.0
"""After a planned change that the coordinator did not live to see."""


class Wish(IntEnum):
    """What a rank wants to do at this step; of several wishes the largest holds."""

    GO_ON = 0
    SAVE = 1
    CHANGE = 2


class Membership:
    """What every rank does together at the borders of worlds."""

    group: Group

    def __init__(
        self,
        channel: Channel | SoloChannel,
        position: Position,
        keeper: Keeper,
        progress: Progress,
        early_returns: EarlyReturns,
    ) -> None:
        self.models: list[Elastic] = []
        self.in_place = Way.IN_PLACE in read_ways(os.environ)
        """Whether a planned change keeps the script's objects. Else its function is called again:
        frameworks take it that the world which they began in is the only one."""
        self._channel = channel
        self._position = position
        self._keeper = keeper
        self._progress = progress
        self._early_returns = early_returns
        self._change_again_at = 0.0

    @property
    def _world(self) -> int:
        return self.group.place.number

    @property
    def _is_main(self) -> bool:
        return self.group.place.rank == 0

    def enter(self, place: Assignment) -> None:
        device = torch.device("cpu")
        if torch.cuda.is_available():
            device = torch.device("cuda", place.local_rank)
            torch.cuda.set_device(device)
        self._position.place = place
        self.group = self._keeper.group = Group(place, device)
        self._early_returns.enter_world(self.group)
        randomness.seed_all(self._position.seed, "model")  # models are built alike on all ranks

    def settle(self) -> None:
        """What every rank does in a new world, newcomers and survivors alike: one state for all."""
        keeper, place = self._keeper, self.group.place
        choice = self.group.choose(_pair(keeper.newest(place)) if self._is_main else None)
        if choice is not None:
            id = CheckpointId(*choice)
            keeper.restore(id, is_main=self._is_main, device=self.group.device)
        for model in self.models:
            model.enter_world(place.world_size)
        if choice is None:
            if self._is_main or keeper.is_sharded:
                keeper.begin(self._world)
            self.group.choose(None)  # nobody trains before there is a state to go back to
            keeper.restored = CheckpointId(self._world, self._position.step)
        keeper.saved_at = time.monotonic()
        self._progress.enter_world(self._position.step)
        self._position.waited.enter_world()
        self._position.mark()
        self._early_returns.enter_world(self.group)

    def agree(self, *, is_save_due: bool = False) -> Wish:
        """What all ranks do here together; every rank calls it once a step.

        `is_save_due`: counts where saving takes all ranks.
        """
        asked = self._channel.is_drain_asked(self._world)
        wish = Wish.GO_ON
        if asked and time.monotonic() >= self._change_again_at:
            wish = Wish.CHANGE
        elif is_save_due and self._keeper.is_sharded and self._is_main:
            wish = Wish.SAVE
        try:
            return Wish(self.group.agree(wish))
        except RuntimeError as error:
            if not is_lost_peer(error):
                raise
            raise PeerLost(f"{type(error).__name__}: {error}") from error

    def change_world(self) -> None:
        """A planned change, in place: model, optimizer and device stay as they are.

        Raises:
            WorldChanged: the model is sharded over this world, and has to be sharded anew; or the
                script cannot change in place, or the user does not want it.
        """
        outcome, world, step = self.group.tell(self._save_for_all())
        if Outcome(outcome) is Outcome.UNANSWERED:
            self._change_again_at = time.monotonic() + CHANGE_RETRY_SECONDS
            return  # nobody is there to form another world; training goes on in this one
        if Outcome(outcome) is not Outcome.PUBLISHED:
            raise WorldEnded("the planned stop could not be saved; the last checkpoint counts")
        self._keeper.hold(CheckpointId(world, step))
        self._progress.previous_step = self._position.step
        number = self._world
        if self._keeper.is_sharded or not self.in_place:
            raise WorldChanged(f"world {number} is left as planned")
        for model in self.models:
            model.share_buffers()  # memory now holds what the checkpoint does, on all ranks
        self.leave()
        self._channel.drained(number)
        self._channel.arrive(survivor=True, floor=0)
        place = self._channel.next_world()
        self.enter(place)
        self.settle()

    def finish(self) -> None:
        """Commit the last state, then leave together; waits until all ranks have come here.

        Raises:
            WorldEnded: it could not be saved, so the work since the last checkpoint is not done.
        """
        self._early_returns.report_return()
        number = self._world
        if self._keeper.tracked:
            if self._is_main:
                self._progress.tell_end()
            saves = self._is_main or self._keeper.is_sharded
            saved = saves and self._keeper.save_last(self._world)
            if self.group.choose(_pair(self._keeper.saved) if saved else None) is None:
                raise WorldEnded("the last state could not be saved; the last checkpoint counts")
        else:
            self.group.choose(None)
        self.leave()
        self._channel.trained(number)

    def leave(self) -> None:
        self._early_returns.leave_world()
        for model in self.models:
            model.leave_world()
        leave_world()
        if self._keeper.is_sharded:
            forget_meshes()

    def _save_for_all(self) -> tuple[int, int, int]:
        """At rank 0: what became of the save, and the checkpoint that now holds the state."""
        if not (self._is_main or self._keeper.is_sharded):
            return 0, 0, 0
        outcome = self._keeper.save(self._world)
        return outcome.value, *(_pair(self._keeper.saved) or (0, 0))


def _pair(id: CheckpointId | None) -> tuple[int, int] | None:
    return (id.world, id.step) if id is not None else None
