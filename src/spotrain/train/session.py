"""The run: what a training function sees of its worlds."""

import logging
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch import nn
from torch.utils.data import Dataset

from spotrain.agent.rank import Assignment, Channel
from spotrain.train.checkpoint import Catalogue
from spotrain.train.group import Group
from spotrain.train.keeper import Keeper
from spotrain.train.loader import ElasticLoader, Position
from spotrain.train.membership import Membership, Wish
from spotrain.train.pace import Pace
from spotrain.train.parallel import BuildReplica, Elastic, data_parallel
from spotrain.train.progress import Progress
from spotrain.train.restoring import Tracked
from spotrain.train.sample_log import SampleLog
from spotrain.train.saver import Saver
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import UsageError, WorldChanged, WorldEnded, require_restorable, size_of

log = logging.getLogger(__name__)


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
        pace: Pace,
        previous_step: int | None,
    ) -> None:
        self._channel = channel
        self._position = Position(seed=seed, channel=channel)
        self._keeper = Keeper(catalogue, saver, self._position, pace)
        self._progress = Progress(channel, self._position, previous_step)
        self._sample_log = SampleLog.from_environment()
        self.membership = Membership(channel, self._position, self._keeper, self._progress)
        self._is_stopping = False

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
    def channel(self) -> Channel | SoloChannel:
        """To the agent; for what commits by itself."""
        return self._channel

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
        self.membership.models.append(elastic)
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
        self._position.size = size_of(dataset)
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
        require_restorable(objects)
        plain = {n: o.module if isinstance(o, Elastic) else o for n, o in objects.items()}
        self._keeper.track(plain)
        self.membership.settle()

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
        self._require_wanted()
        self._keeper.look_after_saves(self.world)
        is_due = self.is_main and self._keeper.is_save_due()
        wish = self.membership.agree(is_save_due=is_due)
        if wish is Wish.CHANGE:
            self.membership.change_world()
        elif wish is Wish.SAVE or (is_due and not self._keeper.is_sharded):
            self._keeper.start_save(self.world)

    def should_stop(self, *, step: int | None = None) -> bool:
        """For scripts that keep their own loop and do not call `run.step`: whether to stop here.

        Every rank calls it once a step, and all get the same answer. Once it is True, save (see
        `save_checkpoint`), then call `run.next_world`. `step`: global steps done, for reports.
        """
        self._require_wanted()
        if step is not None:
            self._position.step = step
            self._position.mark()
            if self.is_main:
                self._progress.tell_step(samples=0, metrics={})
        self._is_stopping |= self.membership.agree() is Wish.CHANGE
        return self._is_stopping

    def next_world(self) -> NoReturn:
        """Leave this world after `should_stop`: the training function is called again in the next.

        Raises:
            WorldChanged: always; do not catch it.
        """
        if not self._is_stopping:
            raise UsageError(
                "run.next_world came before run.should_stop had said True: this world goes on, "
                "and the others would wait for this rank"
            )
        raise WorldChanged(f"world {self.world} is left as planned")

    def log(self, **metrics: float | torch.Tensor) -> None:
        """Report metrics of an epoch, such as accuracy; only rank 0's count."""
        if self.is_main:
            self._progress.tell(metrics)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor summed over all ranks; every rank calls it."""
        return self._group.sum(tensor)

    @property
    def _group(self) -> Group:
        return self.membership.group

    def _require_wanted(self) -> None:
        if self._channel.is_leave_asked(self.world):
            raise WorldEnded(f"world {self.world} was ended from outside")

    def _require_tracked(self, caller: str) -> None:
        if not self._keeper.tracked:
            raise UsageError(
                f"{caller} came before run.track, so a checkpoint would hold no model. "
                "Call run.track(model=..., optimizer=...) after run.loader."
            )
