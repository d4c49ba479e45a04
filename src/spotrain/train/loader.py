"""A data loader that goes on at the same sample in whatever world comes next."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import DataLoader, Dataset

from spotrain.agent.rank import Assignment, Channel
from spotrain.train.sampler import ElasticBatchSampler, Step
from spotrain.train.solo import SoloChannel


@dataclass
class Position:
    """Where training is: what a checkpoint keeps beside the tracked objects."""

    seed: int
    step: int = 0
    """Global steps done."""
    epoch: int = 0
    cursor: int = 0
    """Samples of this epoch that are consumed, over all ranks."""
    size: int | None = None
    """Samples of the data set; None before there is a loader."""
    place: Assignment | None = None
    unstepped: list[Step] = field(default_factory=list)
    """Batches handed out since the last step: consumed once that step is done."""
    channel: Channel | SoloChannel | None = None
    """Is told how far this rank is, for the day that its world hangs."""

    def take_batch(self, batch: Step) -> None:
        self.unstepped.append(batch)
        self.mark()

    def take_step(self) -> list[Step]:
        """Count one global step; returns the batches that it consumed."""
        taken, self.unstepped = self.unstepped, []
        self.step += 1
        if taken:
            self.cursor = taken[-1].cursor
        self.mark()
        return taken

    def mark(self) -> None:
        if self.channel is not None:
            self.channel.mark(step=self.step, batches=len(self.unstepped))

    def end_epoch(self) -> None:
        self.epoch += 1
        self.cursor = 0
        self.unstepped = []


class ElasticLoader:
    """Iterating yields this rank's batches of the present epoch, from the present position.

    After a change of world in the midst of an epoch the same iteration goes on with this rank's
    share of what is left: batches that were prefetched for the old world are thrown away unseen.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        position: Position,
        *,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
        options: dict[str, Any],
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self._position = position
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._options = options

    def __len__(self) -> int:
        """Batches left in the epoch for this rank in the present world."""
        return len(self._sampler())

    def __iter__(self) -> Iterator[Any]:
        position = self._position
        position.unstepped = []  # of an iteration that was broken off
        while True:
            place, sampler = position.place, self._sampler()
            batches = DataLoader(self.dataset, batch_sampler=sampler, **self._options)
            for step, batch in zip(sampler.steps(), batches, strict=True):
                position.take_batch(step)
                yield batch
                if position.place is not place:
                    break
            else:
                return

    def _sampler(self) -> ElasticBatchSampler:
        position, place = self._position, self._position.place
        assert place is not None
        return ElasticBatchSampler(
            len(self.dataset),  # type: ignore[arg-type]
            batch_size=self.batch_size,
            rank=place.rank,
            world_size=place.world_size,
            seed=position.seed,
            epoch=position.epoch,
            cursor=position.cursor,
            shuffle=self._shuffle,
            drop_last=self._drop_last,
        )
