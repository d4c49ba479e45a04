"""Every sample once an epoch, whatever happens to the number of ranks on the way.

The order of an epoch depends on its seed and number only, and the position in it is one global
count of consumed samples. Any world can therefore go on exactly where any other world stopped.
A position kept per rank (or a new shuffle of the rest) loses and repeats samples at every change.
"""

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

import torch
from torch.utils.data import Sampler

from spotrain.train.batching import Batching, Share

INDICES_AT_ONCE: Final = 16_384
"""Turned into numbers of Python together: few enough to stay in a processor's cache."""


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


class Batch(NamedTuple):
    """What one rank takes in at once: all of its part of a step, or one of several."""

    indices: list[int]
    """Samples of this rank; the last `padding` of them are repeats."""
    padding: int
    cursor: int
    """Samples of the epoch that all ranks together have consumed once its step is done."""
    weight: float
    """Factor of this batch's mean loss that makes the ranks' averaged gradients, summed over the
    step's batches, the gradient of the mean over the step's new samples."""
    samples: int
    """New samples of all ranks in its step."""
    ends_step: bool


class ElasticBatchSampler(Sampler[list[int]]):
    """Batches of one rank, from a global position to the end of the epoch.

    A step takes `batch_size * world_size` samples (or what a `Batching` says), and each rank a
    contiguous slice of them. Every rank has the same number of steps and of batches in each (a
    collective with fewer members would hang). With a constant share of each rank

    - a rest smaller than the world joins the last full step: a batch is at most one larger;
    - a larger rest becomes one more step, split as evenly as possible.

    With a constant global batch the rest always is a step of its own, so that steps are the same in
    a world of any size. Where a step has fewer samples than batches, those without one repeat a
    sample from the epoch's beginning, say so in `Batch.padding`, and weigh nothing.

    `drop_last` leaves out every rest, so that all steps have equal size: those samples are lost
    for the epoch by the caller's own wish.
    """

    def __init__(
        self,
        size: int,
        *,
        batch_size: int | Batching,
        rank: int,
        world_size: int,
        seed: int,
        epoch: int,
        cursor: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
    ) -> None:
        _require("size", size, 0, None, "pass len(dataset)")
        if not isinstance(batch_size, Batching):
            _require("batch_size", batch_size, 1, None, "give each rank one sample a step or more")
            batch_size = Batching(batch_size)
        _require("world_size", world_size, 1, None, "pass the number of ranks that train")
        _require("rank", rank, 0, world_size - 1, "pass this process's rank in the world")
        _require("epoch", epoch, 0, None, "count epochs from 0")
        _require("cursor", cursor, 0, size, "pass the cursor of a checkpoint of the same dataset")
        self.size = size
        self.rank = rank
        self.world_size = world_size
        self.seed = seed
        self.epoch = epoch
        self.cursor = cursor
        self.shuffle = shuffle
        self.steps = batch_size.steps(size - cursor, world_size, drop_last=drop_last)
        """Steps left, the same on every rank."""

    def __len__(self) -> int:
        """Batches left, the same number on every rank."""
        return self.steps.batches

    def __iter__(self) -> Iterator[list[int]]:
        return (batch.indices for batch in self.batches())

    def batches(self) -> Iterator[Batch]:
        """The batches together with the position after each: what a checkpoint has to keep.

        A data loader prefetches, so the sampler's own progress runs ahead of training; whoever
        saves must take the cursor of the batch that was consumed, never of the one handed out.
        """
        order = permutation(self.size, seed=self.seed, epoch=self.epoch, shuffle=self.shuffle)
        steps = self.steps
        yield from self._deal(order, self.cursor, steps.full, steps.samples, steps.pieces)
        if steps.last_samples:
            cursor = self.cursor + steps.full * steps.samples
            yield from self._deal(order, cursor, 1, steps.last_samples, steps.last_pieces)

    def _deal(
        self, order: torch.Tensor, cursor: int, count: int, samples: int, pieces: int
    ) -> Iterator[Batch]:
        """This rank's batches of `count` equal steps that begin at `cursor`."""
        if count == 0:
            return
        share = Share.of(samples, pieces, rank=self.rank, world_size=self.world_size)
        mine = order[cursor : cursor + count * samples].view(count, samples)
        mine = mine[:, share.start : share.start + share.size]
        repeat = [int(order[(self.rank - samples) % self.size])]
        # One weight for each cut, and the last one of a step.
        parts = [
            (start, stop, (stop - start) * self.world_size / samples, number == pieces)
            for number, (start, stop) in enumerate(share.cuts, start=1)
        ]
        at_once = max(1, INDICES_AT_ONCE // max(1, share.size))
        for steps in torch.split(mine, at_once):
            numbers = steps.flatten().tolist()  # of Python, by the thousand: one by one costs more
            for number in range(len(steps)):
                first = number * share.size
                cursor += samples
                for start, stop, weight, ends_step in parts:
                    if start < stop:
                        own = numbers[first + start : first + stop]
                        yield Batch(own, 0, cursor, weight, samples, ends_step)
                    else:
                        yield Batch(repeat, 1, cursor, 0.0, samples, ends_step)


def _require(name: str, value: int, low: int, high: int | None, hint: str) -> None:
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, but must be a whole number: {hint}")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} is {value}, but must be {limits}: {hint}")
