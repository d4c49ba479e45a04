"""The run: what a training function sees of its worlds."""

import logging
from collections.abc import Iterator
from typing import NoReturn

import torch

from spotrain.agent.rank import Channel
from spotrain.train.checkpoint import Catalogue
from spotrain.train.early_return import EarlyReturns
from spotrain.train.keeper import Keeper
from spotrain.train.membership import Membership, Wish
from spotrain.train.pace import Pace
from spotrain.train.position import Position
from spotrain.train.preparing import Preparing
from spotrain.train.progress import Metrics, Progress
from spotrain.train.randomness import seed_all
from spotrain.train.sample_log import SampleLog
from spotrain.train.saver import Saver
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import UsageError, WorldChanged

log = logging.getLogger(__name__)


class Run(Preparing):
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
        self._early_returns = EarlyReturns(channel, self._position)
        self.membership = Membership(
            channel, self._position, self._keeper, self._progress, self._early_returns
        )
        self._is_stopping = False

    @property
    def channel(self) -> Channel | SoloChannel:
        """To the agent; for what commits by itself."""
        return self._channel

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are left, beginning with the one in progress."""
        self._require_tracked("run.epochs")
        self._position.epochs = count
        if self._position.epoch >= count and self.is_main:
            log.info("all %d epochs are done already: raise their number to train on", count)
        while self._position.epoch < count:
            before = self._position.step
            seed_all(self._position.seed, "epoch", self.rank, self._position.epoch)
            yield self._position.epoch
            if self._position.step == before and self._position.unstepped:
                raise UsageError(
                    f"an epoch of {len(self._position.unstepped)} batches ended without run.step: "
                    "nothing of it would be saved. Call run.step() after each optimizer step."
                )
            self._position.end_epoch()
            self._keeper.hold(None)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute gradients from the mean loss of the batch at hand, weighted by its samples.

        What `optimizer.step` then finds is the gradient of the mean over all of the step's samples,
        however unevenly they are spread over batches and ranks.
        """
        weight = self._position.weigh()
        torch.autograd.backward(loss if weight == 1 else loss * weight)

    def step(self, **metrics: float | torch.Tensor) -> None:
        """One optimizer step is done: counts its samples, saves when due, changes world if asked.

        Raises:
            WorldEnded: do not catch it; the training function is called again.
        """
        self._count_step(metrics)
        self._position.require_world()
        self._keeper.look_after_saves(self.world)
        is_due = self.is_main and self._keeper.is_save_due()
        wish = self.membership.agree(is_save_due=is_due)
        if wish is Wish.CHANGE:
            self.membership.change_world()
        elif wish is Wish.SAVE or (is_due and not self._keeper.is_sharded):
            self._keeper.start_save(self.world)

    def last_step(self, **metrics: float | torch.Tensor) -> None:
        """In place of `step`, where nothing follows: the end saves it, and no world changes now."""
        self._count_step(metrics)

    def should_stop(self, *, step: int | None = None) -> bool:
        """For scripts that keep their own loop and do not call `run.step`: whether to stop here.

        Every rank calls it once a step, and all get the same answer. Once it is True, save (see
        `save_checkpoint`), then call `run.next_world`. `step`: global steps done, for reports;
        without it nobody can tell whether this world hangs.
        """
        self._position.require_world()
        if step is not None:
            self._position.come_to(step)
            self._early_returns.count_step()
        if self.is_main:  # without steps too: it has come beyond its first one
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

    def _count_step(self, metrics: Metrics) -> None:
        self._require_tracked("run.step")
        taken = self._position.take_step()
        self._early_returns.count_step()
        self._keeper.hold(None)
        self._sample_log.write(self.place, self._position, taken)
        if self.is_main:
            samples = sum(batch.samples for batch in taken if batch.ends_step)
            self._progress.tell_step(samples=samples, metrics=metrics)

    def _require_tracked(self, caller: str) -> None:
        if not self._keeper.tracked:
            raise UsageError(
                f"{caller} came before run.track, so a checkpoint would hold no model. "
                "Call run.track(model=..., optimizer=...) after run.loader."
            )
