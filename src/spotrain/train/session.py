"""The run: a training function's view of its worlds, and what carries it from one to the next."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from spotrain.agent.rank import Assignment, Channel
from spotrain.train import randomness
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.group import Group, leave_world
from spotrain.train.keeper import Keeper, Tracked, UsageError, WorldEnded
from spotrain.train.loader import ElasticLoader, Position
from spotrain.train.parallel import BuildReplica, Elastic, data_parallel
from spotrain.train.progress import Progress
from spotrain.train.sample_log import SampleLog
from spotrain.train.saver import Outcome, Saver
from spotrain.train.solo import SoloChannel

log = logging.getLogger(__name__)

CHANGE_RETRY_SECONDS = 5.0
"""After a planned change that the coordinator did not live to see."""


class Run:
    """Handed to the training function; see `spotrain.train` for a whole script.

    Until `track` returns, only `wrap`, `loader` and `track` may be used: a newcomer does just
    that while the others, in the midst of training, wait for it.
    """

    def __init__(
        self,
        channel: Channel | SoloChannel,
        catalogue: Catalogue,
        saver: Saver,
        *,
        seed: int,
        checkpoint_seconds: float,
        previous_step: int | None,
    ) -> None:
        self._channel = channel
        self._checkpoint_seconds = checkpoint_seconds
        self._position = Position(seed=seed)
        self._keeper = Keeper(catalogue, saver, self._position)
        self._progress = Progress(channel, self._position, previous_step)
        self._sample_log = SampleLog.from_environment()
        self._models: list[Elastic] = []
        self._asked_again_at = 0.0

    # --- Where this process is ---

    @property
    def place(self) -> Assignment:
        assert self._position.place is not None
        return self._position.place

    @property
    def rank(self) -> int:
        return self.place.rank

    @property
    def world_size(self) -> int:
        return self.place.world_size

    @property
    def is_main(self) -> bool:
        return self.place.rank == 0

    @property
    def world(self) -> int:
        """Number of the present world; it only rises."""
        return self.place.number

    @property
    def device(self) -> torch.device:
        return self._group.device

    @property
    def steps_done(self) -> int:
        """Global steps done since the job began, over all worlds."""
        return self._position.step

    # --- What the training function calls ---

    def wrap(self, model: nn.Module, build_replica: BuildReplica | None = None) -> Elastic:
        """Move a model to the device and keep it in step with the other ranks.

        `build_replica` makes the parallel form of the model in each world it is called for;
        DistributedDataParallel by default.
        """
        if self._keeper.tracked:
            raise UsageError("run.wrap came after run.track: wrap every model before tracking it")
        elastic = Elastic(model.to(self.device), build_replica or data_parallel(self.device))
        self._models.append(elastic)
        return elastic

    def loader(
        self,
        dataset: Dataset[Any],
        *,
        batch_size: int,
        workers: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        **options: Any,
    ) -> ElasticLoader:
        """The training set's batches, every sample once an epoch across all changes of worlds.

        `batch_size` counts samples of one rank; `options` go to torch's DataLoader.
        """
        if self._position.size is not None:
            raise UsageError(
                "run.loader was called twice: one position in one data set is kept. Put several "
                "sets together with torch.utils.data.ConcatDataset; evaluate with a DataLoader."
            )
        self._position.size = _size_of(dataset)
        options.setdefault("pin_memory", self.device.type == "cuda")
        return ElasticLoader(
            dataset,
            self._position,
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            options={"num_workers": workers, **options},
        )

    def track(self, **objects: Tracked) -> None:
        """Name what a checkpoint holds, beside position and random state; restores the newest one.

        Each object has state_dict and load_state_dict. Collective: every rank calls it once.
        """
        if self._keeper.tracked:
            raise UsageError("run.track was called twice: name everything in one call")
        if not objects:
            raise UsageError("run.track needs what to save: run.track(model=..., optimizer=...)")
        for name, object in objects.items():
            if not hasattr(object, "state_dict") or not hasattr(object, "load_state_dict"):
                raise UsageError(
                    f"run.track({name}={object!r}): it has no state_dict and load_state_dict, so "
                    "it could not be restored. Position, epoch and random state are kept anyway."
                )
        self._keeper.tracked = {
            name: object.module if isinstance(object, Elastic) else object
            for name, object in objects.items()
        }
        self._settle()

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left, beginning with the one in progress."""
        self._require_tracked("run.epochs")
        if self._position.epoch >= count and self.is_main:
            log.info("all %d epochs are done already: raise their number to train on", count)
        while self._position.epoch < count:
            before = self._position.step
            yield self._position.epoch
            if self._position.step == before and self._position.unstepped:
                raise UsageError(
                    f"an epoch of {len(self._position.unstepped)} batches ended without run.step: "
                    "nothing of it would be saved. Call run.step() after each optimizer step."
                )
            self._position.end_epoch()
            self._keeper.hold(None)

    def step(self, **metrics: float | torch.Tensor) -> None:
        """One optimizer step is done: counts its samples, saves when due, changes world if asked.

        Raises:
            WorldEnded: do not catch it; the training function is called again.
        """
        self._require_tracked("run.step")
        if not self._position.unstepped:
            raise UsageError(
                "run.step came without a new batch of run.loader. Take batches from "
                "run.loader(dataset, batch_size=...), which gives each rank its share and knows "
                "the position, and call run.step() once for each optimizer step."
            )
        taken = self._position.take_step()
        self._keeper.hold(None)
        self._sample_log.write(self.place, self._position, taken)
        if self.is_main:
            own = sum(len(step.indices) - step.padding for step in taken)
            self._progress.tell_step(samples=own * self.world_size, metrics=metrics)
        if self._channel.is_leave_asked(self.world):
            raise WorldEnded(f"world {self.world} was ended from outside")
        self._keeper.look_after_saves(self.world)
        if self._group.agree(self._is_change_asked()):
            self._change_world()
        elif self.is_main and self._is_save_due():
            self._keeper.start_save(self.world)

    def log(self, **metrics: float | torch.Tensor) -> None:
        """Report metrics of an epoch, such as accuracy; only rank 0's count."""
        if self.is_main:
            self._progress.tell(metrics)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor summed over all ranks; every rank calls it."""
        return self._group.sum(tensor)

    # --- From world to world; called by `run` ---

    def enter(self, place: Assignment) -> None:
        device = torch.device("cpu")
        if torch.cuda.is_available():
            device = torch.device("cuda", place.local_rank)
            torch.cuda.set_device(device)
        self._position.place = place
        self._group = Group(place, device)
        randomness.seed_all(self._position.seed)

    def finish(self) -> None:
        """Training is done: commit the last state, then leave together.

        Raises:
            WorldEnded: it could not be saved, so the work since the last checkpoint is not done.
        """
        if self._keeper.tracked:
            saved = self.is_main and self._keeper.save_patiently(self.world)
            if self._group.choose(_pair(self._keeper.saved) if saved else None) is None:
                raise WorldEnded("the last state could not be saved; the last checkpoint counts")
        self.leave()

    def leave(self) -> None:
        for model in self._models:
            model.leave_world()
        leave_world()

    def _change_world(self) -> None:
        """A planned change, in place: model, optimizer and device stay as they are."""
        outcome, world, step = self._group.tell(self._save_for_all())
        if Outcome(outcome) is Outcome.UNANSWERED:
            self._asked_again_at = time.monotonic() + CHANGE_RETRY_SECONDS
            return  # nobody is there to form another world; training goes on in this one
        if Outcome(outcome) is not Outcome.PUBLISHED:
            raise WorldEnded("the planned stop could not be saved; the last checkpoint counts")
        self._keeper.hold(CheckpointId(world, step))
        self._progress.previous_step = self._position.step
        number = self.world
        self.leave()
        self._channel.drained(number)
        self._channel.arrive(survivor=True, floor=0)
        place = self._channel.next_world()
        random_state = randomness.get_state()
        self.enter(place)
        randomness.set_state(random_state)
        self._settle()

    def _is_change_asked(self) -> bool:
        asked = self._channel.is_drain_asked(self.world)
        return asked and time.monotonic() >= self._asked_again_at

    def _save_for_all(self) -> tuple[int, int, int]:
        """At rank 0: what became of the save, and the checkpoint that now holds the state."""
        if not self.is_main:
            return 0, 0, 0
        outcome = self._keeper.save(self.world)
        return outcome.value, *(_pair(self._keeper.saved) or (0, 0))

    def _settle(self) -> None:
        """What every rank does in a new world, newcomers and survivors alike: one state for all."""
        keeper = self._keeper
        choice = self._group.choose(_pair(keeper.newest(self.place)) if self.is_main else None)
        if choice is not None:
            id = CheckpointId(*choice)
            keeper.restore(id, is_main=self.is_main, rank=self.rank, device=self.device)
        for model in self._models:
            model.enter_world(self.world_size)
        if choice is None:
            if self.is_main:
                keeper.begin(self.world)
            self._group.choose(None)  # nobody trains before there is a state to go back to
            keeper.restored = CheckpointId(self.world, self._position.step)
            if not self.is_main:  # the weights began alike; dropout and augmentation must not
                randomness.seed_all(self._position.seed, self.rank, self._position.step)
        keeper.saved_at = time.monotonic()
        self._progress.enter_world(self._position.step)

    def _is_save_due(self) -> bool:
        return time.monotonic() - self._keeper.saved_at >= self._checkpoint_seconds

    def _require_tracked(self, caller: str) -> None:
        if not self._keeper.tracked:
            raise UsageError(
                f"{caller} came before run.track, so a checkpoint would hold no model. "
                "Call run.track(model=..., optimizer=...) after run.loader."
            )


def _size_of(dataset: Dataset[Any]) -> int:
    try:
        size = len(dataset)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(
            f"{type(dataset).__name__} has no length: exact positions need a data set of the map "
            "kind (__len__ and __getitem__), not an iterable one"
        ) from None
    if size == 0:
        raise UsageError("the data set is empty: there is nothing to train on. Check its path.")
    return size


def _pair(id: CheckpointId | None) -> tuple[int, int] | None:
    return (id.world, id.step) if id is not None else None
