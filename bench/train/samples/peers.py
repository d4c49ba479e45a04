"""The same histories on the samplers that torch users have: what each loses and repeats."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.elastic.utils.data.elastic_distributed_sampler import (
    ElasticDistributedSampler,
)
from torch.utils.data import DistributedSampler

from bench.train.samples.history import History, World

Share = list[int | None]
"""Samples of one rank until the end of the epoch; None: padding, which is no fault."""


class Peer(ABC):
    """A way to go on in the midst of an epoch. `progress` is what its checkpoints keep of one."""

    name: str

    @abstractmethod
    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share: ...

    @abstractmethod
    def after(self, progress: int, steps: int, samples_per_rank: int, world_size: int) -> int:
        """The progress after so many more steps in a world."""


class Restarted(Peer):
    """Checkpoints that know the epoch only: it begins anew."""

    name = "DistributedSampler, epoch begun anew"

    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share:
        return _distributed(size, world_size, rank, epoch)

    def after(self, progress: int, steps: int, samples_per_rank: int, world_size: int) -> int:
        return 0


class Skipped(Peer):
    """The usual home-made way: each rank skips as many samples as a rank had consumed."""

    name = "DistributedSampler, steps x batch skipped"

    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share:
        return _distributed(size, world_size, rank, epoch)[progress:]

    def after(self, progress: int, steps: int, samples_per_rank: int, world_size: int) -> int:
        return progress + steps * samples_per_rank


class SkippedGlobally(Peer):
    """The best home-made way: all samples consumed, shared out among the ranks of the new world."""

    name = "DistributedSampler, all samples // ranks skipped"

    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share:
        return _distributed(size, world_size, rank, epoch)[progress // world_size :]

    def after(self, progress: int, steps: int, samples_per_rank: int, world_size: int) -> int:
        return progress + steps * samples_per_rank * world_size


class TorchElastic(Peer):
    """torch's own elastic sampler, told how many samples all ranks have consumed."""

    name = "torch's ElasticDistributedSampler"

    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share:
        start = min(progress, size)
        if size - start < world_size:
            return []  # it raises AssertionError here; taken as the epoch's end
        sampler: Any = ElasticDistributedSampler(
            range(size),  # type: ignore[arg-type]
            num_replicas=world_size,
            rank=rank,
            start_index=start,
        )
        sampler.set_epoch(epoch)
        return _without_padding(list(sampler), size - start, world_size, rank)

    def after(self, progress: int, steps: int, samples_per_rank: int, world_size: int) -> int:
        return progress + steps * samples_per_rank * world_size


class Stateful(Skipped):
    """torchdata's sampler with a state: each rank of the new world loads one of the old."""

    name = "torchdata's StatefulDistributedSampler"

    def __init__(self) -> None:
        from torchdata.stateful_dataloader.sampler import (  # type: ignore[import-not-found]
            StatefulDistributedSampler,
        )

        self._type: Any = StatefulDistributedSampler

    def share(self, size: int, world_size: int, rank: int, epoch: int, progress: int) -> Share:
        sampler = self._type(range(size), num_replicas=world_size, rank=rank)
        sampler.set_epoch(epoch)
        sampler.load_state_dict({"yielded": progress})
        padded = -(-size // world_size)
        head: list[int] = [0] * min(progress, padded)
        return _without_padding(head + list(sampler), size, world_size, rank)[len(head) :]


def peers() -> list[Peer]:
    """Those that can be had here; torchdata is not among the project's own dependencies."""
    found: list[Peer] = [Restarted(), Skipped(), SkippedGlobally(), TorchElastic()]
    try:
        found.append(Stateful())
    except ImportError:
        print("torchdata is not installed (make bench installs it): its sampler is left out")
    return found


@dataclass(frozen=True)
class Mistakes:
    lost: int
    """Samples that no work that counts has used, over all epochs."""
    repeated: int
    """Uses beyond the first, padding aside."""


def play(history: History, peer: Peer) -> Mistakes:
    """Train a history to its end; work after the last save before a kill does not count."""
    job = _Job(history, peer)
    for world in history.worlds:
        job.train(world)
    used = torch.stack(job.kept)
    return Mistakes(lost=int((used == 0).sum()), repeated=int((used - 1).clamp(min=0).sum()))


class _Job:
    def __init__(self, history: History, peer: Peer) -> None:
        self._history, self._peer = history, peer
        self.kept = [torch.zeros(history.samples, dtype=torch.long) for _ in range(history.epochs)]
        """Uses of each sample, by epoch, in work that counts."""
        self._saved = (0, 0)
        """Epoch and progress of the last checkpoint."""
        self._unsaved: list[tuple[int, list[int]]] = []

    def train(self, world: World) -> None:
        epoch, progress = self._saved
        left, done = world.steps, 0
        while epoch < self._history.epochs and left != 0:
            steps = self._steps(world.size, epoch, progress)
            for number, ids in enumerate(steps[:left], start=1):
                self._unsaved.append((epoch, ids))
                done += 1
                if done % self._history.save_every == 0:
                    self._save(epoch, self._after(progress, number, world.size))
            if left is not None and left < len(steps):
                progress = self._after(progress, left, world.size)
                break
            left = None if left is None else left - len(steps)
            epoch, progress = epoch + 1, 0
        if world.ends_by == "notice":
            self._save(epoch, progress)
        self._unsaved.clear()

    def _after(self, progress: int, steps: int, world_size: int) -> int:
        return self._peer.after(progress, steps, self._history.batch_size, world_size)

    def _steps(self, world_size: int, epoch: int, progress: int) -> list[list[int]]:
        """What all ranks consume in each step until the end of the epoch."""
        size, batch = self._history.samples, self._history.batch_size
        shares = [
            self._peer.share(size, world_size, rank, epoch, progress) for rank in range(world_size)
        ]
        return [
            [id for share in shares for id in share[start : start + batch] if id is not None]
            for start in range(0, max(map(len, shares)), batch)
        ]

    def _save(self, epoch: int, progress: int) -> None:
        for of_epoch, ids in self._unsaved:
            self.kept[of_epoch] += torch.bincount(
                torch.tensor(ids, dtype=torch.long), minlength=self._history.samples
            )
        self._unsaved.clear()
        self._saved = (epoch, progress)


def _distributed(size: int, world_size: int, rank: int, epoch: int) -> Share:
    sampler: DistributedSampler[int] = DistributedSampler(
        range(size),  # type: ignore[arg-type]
        num_replicas=world_size,
        rank=rank,
    )
    sampler.set_epoch(epoch)
    return _without_padding(list(sampler), size, world_size, rank)


def _without_padding(ids: Sequence[int], real: int, world_size: int, rank: int) -> Share:
    """Ranks take every `world_size`-th place of a list that is padded after `real` places."""
    return [id if number * world_size + rank < real else None for number, id in enumerate(ids)]
