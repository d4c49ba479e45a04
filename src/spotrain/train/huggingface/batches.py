"""The training set's batches, and between them the moments at which a world may change."""

import sys
from collections.abc import Iterator
from typing import Any

from transformers import Trainer

from spotrain.train.loader import ElasticLoader
from spotrain.train.session import Run


class Batches:
    """What Trainer iterates over, once an epoch: what is left of it, in exact order.

    Trainer asks for the batches of the next step when all of the last one is done: logging, saving,
    evaluation. So this is where a step counts, and where a world may change.
    """

    def __init__(self, run: Run, trainer: Trainer, exact: ElasticLoader, length: int) -> None:
        self.dataset = exact.dataset
        self._run = run
        self._trainer = trainer
        self._exact = exact
        self._length = length
        self._left = length
        self._epochs = run.epochs(sys.maxsize)
        self._epoch, self._wanted = -1, 0
        self._counted = 0

    def __len__(self) -> int:
        """Batches of a whole epoch in this world."""
        return self._length

    def resume(self) -> tuple[int, int]:
        """The epoch that was restored, and how many batches of it are left."""
        self._epoch = next(self._epochs)
        if not len(self._exact):
            self._epoch = next(self._epochs)
        self._left = len(self._exact)
        self._counted = self._trainer.state.global_step
        return self._epoch, self._left

    def begin(self, epoch: int) -> int:
        """How many batches there are from here to the end of an epoch."""
        self._wanted = epoch
        return self._left if epoch == self._epoch else self._length

    def share_done(self, epoch: float) -> float:
        """Trainer's epoch, which is whole plus the share of the batches left here, as it is."""
        if int(self._wanted) != self._epoch or self._left == self._length:
            return epoch
        before = 1 - self._left / self._length
        return self._wanted + before + (epoch - self._wanted) * (1 - before)

    def __iter__(self) -> Iterator[Any]:
        self._count()
        while self._epoch < self._wanted:
            self._epoch, self._left = next(self._epochs), self._length
        for batch in self._exact:
            yield batch
            self._count()

    def end(self) -> None:
        """Training is over; batches without an optimizer step do not count."""
        if self._trainer.state.global_step != self._counted:
            self._run.last_step()

    def _count(self) -> None:
        if self._trainer.state.global_step != self._counted:
            self._counted = self._trainer.state.global_step
            self._run.step()
