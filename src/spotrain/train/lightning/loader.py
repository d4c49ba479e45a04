"""The training set's batches, and between them the moments at which a world may change."""

import sys
from collections.abc import Iterator
from typing import Any

import torch
from lightning.pytorch import Trainer

from spotrain.train.loader import ElasticLoader
from spotrain.train.session import Run


class Steps:
    """Counts a run's steps at the pace of a Lightning trainer."""

    def __init__(self, run: Run, trainer: Trainer) -> None:
        self.has_batches = False
        """Whether there are batches that no counted step has used."""
        self._run = run
        self._trainer = trainer
        self._epochs = run.epochs(sys.maxsize)
        self._epoch = -1

    def take(self) -> None:
        """A batch and all that follows it is done: hooks, and validation if it was due."""
        if self._is_updated():
            self.has_batches = False
            self._run.step(**self._metrics())

    def begin_epoch(self) -> None:
        """Count the last step of the epoch before, whose hooks have all been called by now."""
        if self.has_batches:
            self.has_batches = False
            self._run.step(**self._metrics())
        while self._epoch < self._trainer.current_epoch:
            self._epoch = next(self._epochs)

    def end(self) -> None:
        """Training is over; gradients that were not yet used for an update do not count."""
        if self.has_batches and (self._trainer.is_last_batch or self._is_updated()):
            self._run.last_step(**self._metrics())

    def _is_updated(self) -> bool:
        """Whether the batch was the last one of an optimizer step."""
        done: int = self._trainer.fit_loop.batch_idx + 1
        return not done % self._trainer.accumulate_grad_batches

    def _metrics(self) -> dict[str, torch.Tensor]:
        return dict(self._trainer.callback_metrics)


class LightningLoader:
    """What Lightning iterates over, once an epoch: what is left of it, in exact order.

    Lightning asks for the next batch when all hooks of the last one have been called. So this is
    where a step counts, and a checkpoint of that moment holds everything that belongs to it.
    """

    def __init__(self, batches: ElasticLoader, steps: Steps, length: int) -> None:
        self.dataset = batches.dataset
        self._batches = batches
        self._steps = steps
        self._length = length

    def __len__(self) -> int:
        """Batches of this epoch: those that were done in other worlds, and what is left."""
        return self._length

    def __iter__(self) -> Iterator[Any]:
        self._steps.begin_epoch()
        for batch in self._batches:
            self._steps.has_batches = True
            yield batch
            self._steps.take()

    def state_dict(self) -> dict[str, Any]:
        """Nothing: the run keeps the position. But Lightning warns of loaders without this."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass
