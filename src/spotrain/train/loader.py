"""A data loader that goes on at the same sample in whatever world comes next."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import DataLoader, Dataset

from spotrain.agent.marks import answer_for_rank
from spotrain.train import randomness
from spotrain.train.batching import Batching
from spotrain.train.position import Position
from spotrain.train.sampler import Batch, ElasticBatchSampler


class ElasticLoader:
    """Iterating yields this rank's batches of the present epoch, from the present position.

    After a change of world in the midst of an epoch the same iteration goes on with this rank's
    share of what is left: batches that were prefetched for the old world are thrown away unseen.

    Randomness is not kept but made: before each batch is read, in whatever process, and again when
    it is handed out, the generators are seeded by what tells this batch apart. So augmentation and
    dropout are the same with and without an interruption, and with any number of workers.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        position: Position,
        batching: Batching,
        *,
        shuffle: bool,
        drop_last: bool,
        options: dict[str, Any],
    ) -> None:
        self.dataset = dataset
        self.batching = batching
        self._position = position
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._options = options

    def __len__(self) -> int:
        """Batches left in the epoch for this rank in the present world."""
        return len(self._sampler())

    @property
    def steps_left(self) -> int:
        """Optimizer steps left in the epoch in the present world."""
        return len(self._sampler().steps)

    @property
    def ends_step(self) -> bool:
        """Whether the batch at hand is the last of its step: update the model after it."""
        return self._position.ends_step

    def __iter__(self) -> Iterator[Any]:
        position = self._position
        position.forget_batches()  # of an iteration that was broken off
        while True:
            place, handed = position.place, _Handed(self._sampler())
            assert place is not None
            data = _Seeded(self.dataset, position.seed, position.epoch)
            loader = DataLoader(data, batch_sampler=handed, **self._options)
            for read in position.waited.for_data(loader):
                batch = handed.batches.popleft()
                position.take_batch(batch)
                number = len(position.unstepped)
                randomness.seed_all(position.seed, "batch", place.rank, position.step, number)
                yield read
                if position.place is not place:
                    break
            else:
                return

    def _sampler(self) -> ElasticBatchSampler:
        position, place = self._position, self._position.place
        assert place is not None
        return ElasticBatchSampler(
            len(self.dataset),  # type: ignore[arg-type]
            batch_size=self.batching,
            rank=place.rank,
            world_size=place.world_size,
            seed=position.seed,
            epoch=position.epoch,
            cursor=position.cursor,
            shuffle=self._shuffle,
            drop_last=self._drop_last,
        )


class _Handed:
    """The sampler's batches for a data loader, which reads ahead: they wait here to be consumed."""

    def __init__(self, sampler: ElasticBatchSampler) -> None:
        self.batches: deque[Batch] = deque()
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self._sampler.batches():
            self.batches.append(batch)
            yield batch.indices


class _Seeded(Dataset[Any]):
    """A data set whose random choices for a batch follow from seed, epoch and first sample."""

    def __init__(self, dataset: Dataset[Any], seed: int, epoch: int) -> None:
        self._dataset = dataset
        self._seed = seed
        self._epoch = epoch

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickled, it has come to a worker that is no fork of its rank."""
        self.__dict__.update(state)
        answer_for_rank()

    def __len__(self) -> int:
        return len(self._dataset)  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Any:
        return self._dataset[index]

    def __getitems__(self, indices: Sequence[int]) -> Sequence[Any]:
        """What a data loader calls for a batch, in a process of its own or in this one."""
        randomness.seed_all(self._seed, "data", self._epoch, indices[0])
        read_batch = getattr(self._dataset, "__getitems__", None)
        if read_batch:
            together: Sequence[Any] = read_batch(indices)
            return together
        return [self._dataset[index] for index in indices]
