"""torch's ElasticDistributedSampler, for scripts that keep their own loop: same name, but exact."""

from collections.abc import Iterator, Sized
from typing import Any, TypeVar, cast

from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler

from spotrain.train.sampler import permutation

T = TypeVar("T")


class ElasticDistributedSampler(DistributedSampler[T]):
    """A drop-in for `torch.distributed.elastic.utils.data.ElasticDistributedSampler`.

    `start_index` counts the samples of the epoch that all ranks together have consumed, as there;
    but here the order of an epoch does not depend on it, so no sample is lost or repeated over a
    change of the number of ranks (torch's shuffles index range `start_index..` anew: 36 % lost and
    36 % repeated over three changes). It counts for the first epoch that is set, and later ones
    begin at 0.

    Every rank gets the same number of samples: at the end of an epoch up to `num_replicas - 1` of
    them repeat samples from its beginning; `padding` says how many.

        sampler = ElasticDistributedSampler(data, start_index=saved["samples"])
        for epoch in range(saved["epoch"], epochs):
            sampler.set_epoch(epoch)
            for step, batch in enumerate(DataLoader(data, batch_size, sampler=sampler), start=1):
                ...                       # samples = start_index + step * batch_size * num_replicas

    Raises:
        ValueError: `start_index` lies outside of the data set.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        num_replicas: int | None = None,
        rank: int | None = None,
        start_index: int = 0,
        *,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(dataset, num_replicas, rank, shuffle=shuffle, seed=seed)
        self._size = len(cast(Sized, dataset))
        if not 0 <= start_index <= self._size:
            raise ValueError(
                f"start_index is {start_index}, but must be between 0 and {self._size}, the size "
                "of the data set: pass the samples of the epoch that were consumed"
            )
        self._has_begun = False
        self._start_at(start_index)

    @property
    def padding(self) -> int:
        """Repeats in what is left of this epoch, over all ranks."""
        return self.total_size - (self._size - self.start_index)

    def set_epoch(self, epoch: int) -> None:
        if self._has_begun and epoch != self.epoch:
            self._start_at(0)
        self._has_begun = True
        super().set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        self._has_begun = True
        order = permutation(self._size, seed=self.seed, epoch=self.epoch, shuffle=self.shuffle)
        left: list[int] = order[self.start_index :].tolist()
        left += [int(order[number % self._size]) for number in range(self.padding)]
        return iter(left[self.rank :: self.num_replicas])

    def _start_at(self, index: int) -> None:
        self.start_index = index
        self.num_samples = -(-(self._size - index) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
