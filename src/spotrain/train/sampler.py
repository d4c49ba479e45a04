"""Every sample once an epoch, whatever happens to the number of ranks on the way.

The order of an epoch depends on its seed and number only, and the position in it is one global
count of consumed samples. Any world can therefore go on exactly where any other world stopped.
A position kept per rank (or a new shuffle of the rest) loses and repeats samples at every change.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.utils.data import Sampler


def permutation(size: int, *, seed: int, epoch: int, shuffle: bool = True) -> torch.Tensor:
    """The order of an epoch's samples: the same for every rank, world size and worker count.

    Seed and epoch are hashed together, because torch's CPU generator keeps 32 bits of its seed:
    with `seed + epoch`, the second epoch of seed 0 would repeat the first epoch of seed 1. torch
    does not promise the same `randperm` in every release; a test pins its first values, because an
    image whose order differs would lose and repeat samples in the epoch that it resumes.
    """
    if not shuffle:
        return torch.arange(size)
    digest = hashlib.sha256(f"{seed}/{epoch}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))
    return torch.randperm(size, generator=generator)


@dataclass(frozen=True)
class Step:
    """What one rank does in one global step."""

    indices: list[int]
    """Samples of this rank; the last `padding` of them are repeats."""
    padding: int
    cursor: int
    """Samples of the epoch that all ranks together have consumed once this step is done."""


class ElasticBatchSampler(Sampler[list[int]]):
    """Batches of one rank, from a global position to the end of the epoch.

    A global step takes `batch_size * world_size` samples, and each rank a contiguous slice of
    them. Every rank does the same number of steps (a collective with fewer members would hang):

    - a rest smaller than the world joins the last full step: a batch is at most one larger;
    - a larger rest becomes one more step, split as evenly as possible;
    - only where the whole epoch has fewer samples left than ranks is there padding: each rank
      without a sample repeats one from the epoch's beginning, and says so in `Step.padding`.

    `drop_last` leaves out every rest, so that all batches have equal size: those samples are lost
    for the epoch by the caller's own wish.
    """

    def __init__(
        self,
        size: int,
        *,
        batch_size: int,
        rank: int,
        world_size: int,
        seed: int,
        epoch: int,
        cursor: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
    ) -> None:
        _require("size", size, 0, None, "pass len(dataset)")
        _require("batch_size", batch_size, 1, None, "give each rank one sample a step or more")
        _require("world_size", world_size, 1, None, "pass the number of ranks that train")
        _require("rank", rank, 0, world_size - 1, "pass this process's rank in the world")
        _require("epoch", epoch, 0, None, "count epochs from 0")
        _require("cursor", cursor, 0, size, "pass the cursor of a checkpoint of the same dataset")
        self.size = size
        self.batch_size = batch_size
        self.rank = rank
        self.world_size = world_size
        self.seed = seed
        self.epoch = epoch
        self.cursor = cursor
        self.shuffle = shuffle
        self.drop_last = drop_last

    def __len__(self) -> int:
        """Steps left, the same number on every rank."""
        full, rest = divmod(self.size - self.cursor, self.batch_size * self.world_size)
        return full + self._rest_is_a_step(full, rest)

    def __iter__(self) -> Iterator[list[int]]:
        return (step.indices for step in self.steps())

    def steps(self) -> Iterator[Step]:
        """The batches together with the position after each: what a checkpoint has to keep.

        A data loader prefetches, so the sampler's own progress runs ahead of training; whoever
        saves must take the cursor of the batch that was consumed, never of the one handed out.
        """
        order = permutation(self.size, seed=self.seed, epoch=self.epoch, shuffle=self.shuffle)
        cursor = self.cursor
        for count in self._counts():
            share, extra = divmod(count, self.world_size)
            mine = share + (self.rank < extra)
            start = cursor + self.rank * share + min(self.rank, extra)
            cursor += count
            if mine:
                yield Step(order[start : start + mine].tolist(), padding=0, cursor=cursor)
            else:
                repeat = order[(self.rank - extra) % self.size]
                yield Step([int(repeat)], padding=1, cursor=cursor)

    def _counts(self) -> Iterator[int]:
        """New samples of each global step."""
        whole = self.batch_size * self.world_size
        full, rest = divmod(self.size - self.cursor, whole)
        own_step = self._rest_is_a_step(full, rest)
        absorbed = 0 if own_step or self.drop_last else rest
        for number in range(1, full + 1):
            yield whole + (absorbed if number == full else 0)
        if own_step:
            yield rest

    def _rest_is_a_step(self, full: int, rest: int) -> bool:
        return rest > 0 and not self.drop_last and (rest >= self.world_size or full == 0)


def _require(name: str, value: int, low: int, high: int | None, hint: str) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, but must be a whole number: {hint}")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} is {value}, but must be {limits}: {hint}")
