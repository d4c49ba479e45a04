"""A history on the training library: its loader, positions, checkpoints and logs, but no processes.

What a session does in `step`, at a planned change and after a loss is done here by hand, because
sixteen ranks times two hundred jobs would be processes for days; tests/train has it with processes.
"""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import torch
from torch.utils.data import Dataset

from bench.train.samples.history import History, World
from spotrain.agent.rank import Assignment
from spotrain.checkpoints.manifest import Manifest
from spotrain.ledger.exactness import Exactness, audit, read_commits, read_sample_log
from spotrain.train.batching import Batching
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.loader import ElasticLoader
from spotrain.train.position import Position
from spotrain.train.sample_log import SampleLog
from spotrain.train.sampler import permutation


class Numbers(Dataset[int]):
    """A data set whose samples are their own indices, so that a batch shows what was handed out."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return index


class Rank:
    """One training process: its position, its loader, and the loop that takes batches from it."""

    def __init__(self, history: History, start: Manifest | None, samples: Path) -> None:
        self.position = Position(seed=history.seed, size=history.samples)
        if start is not None:
            self.position.step = start.id.step
            self.position.epoch, self.position.cursor = start.epoch, start.cursor
        self._loader = ElasticLoader(
            Numbers(history.samples),
            self.position,
            Batching(history.batch_size),
            shuffle=True,
            drop_last=False,
            options={},
        )
        self._log = SampleLog(samples)
        self._steps = self._train(history.epochs)

    def enter(self, place: Assignment) -> None:
        self.position.place = place

    def step(self) -> bool:
        """Do one step; False where the job is done."""
        return next(self._steps, None) is not None

    def close(self) -> None:
        self._steps.close()
        self._log.close()

    def _train(self, epochs: int) -> Generator[bool, None, None]:
        position = self.position
        while position.epoch < epochs:
            for batch in self._loader:
                assert position.place is not None
                handed_out = torch.as_tensor(batch).tolist()
                taken = position.take_step()
                if handed_out != [index for batch in taken for index in batch.indices]:
                    raise AssertionError("the loader handed out other samples than it counts")
                self._log.write(position.place, position, taken)
                yield True
            position.end_epoch()


def play(history: History, folder: Path) -> Exactness:
    """Train a history to its end in `folder`, then audit what lies there."""
    catalogue = Catalogue(folder / "checkpoints")
    ranks: list[Rank] = []
    for number, world in enumerate(history.worlds, start=1):
        restored = catalogue.newest_intact()
        ranks = enter(history, world, number, ranks, restored, folder / "samples")
        _train(history, world, number, ranks, catalogue, restored)
        if world.ends_by == "kill":
            while ranks:
                ranks.pop().close()
    while ranks:
        ranks.pop().close()
    return audit(
        history.samples,
        read_commits(folder / "checkpoints"),
        read_sample_log(folder / "samples"),
        order=lambda epoch: permutation(history.samples, seed=history.seed, epoch=epoch).tolist(),
    )


def enter(
    history: History,
    world: World,
    number: int,
    survivors: list[Rank],
    restored: Manifest | None,
    samples: Path,
) -> list[Rank]:
    """The ranks of a new world: survivors go on in their loops, newcomers begin at the checkpoint.

    Who is left over leaves; after a kill nobody's loop survives.
    """
    while len(survivors) > world.size:
        survivors.pop().close()
    newcomers = [Rank(history, restored, samples) for _ in range(world.size - len(survivors))]
    ranks = [*survivors, *newcomers]
    alone = Assignment(
        number=number,
        rank=0,
        world_size=world.size,
        local_rank=0,
        local_world_size=1,
        group_rank=0,
        group_world_size=world.size,
        store_host="127.0.0.1",
        store_port=0,
        restore=None,
    )
    for place, rank in enumerate(ranks):
        rank.enter(replace(alone, rank=place, group_rank=place))
    return ranks


def _train(
    history: History,
    world: World,
    number: int,
    ranks: list[Rank],
    catalogue: Catalogue,
    restored: Manifest | None,
) -> None:
    position = ranks[0].position
    first = position.step
    parent = restored.id if restored else CheckpointId(number, first)
    if restored is None:
        _save(catalogue, number, position, parent=None)
    saved = position.step
    while world.steps is None or position.step - first < world.steps:
        went_on = {rank.step() for rank in ranks}
        if len(went_on) > 1:
            raise AssertionError("ranks disagree on whether an epoch is over: they would hang")
        if went_on == {False}:
            break
        if (position.step - first) % history.save_every == 0:
            _save(catalogue, number, position, parent=parent)
            saved = position.step
    if world.ends_by == "notice" and position.step > saved:
        _save(catalogue, number, position, parent=parent)


def _save(
    catalogue: Catalogue, number: int, position: Position, *, parent: CheckpointId | None
) -> None:
    state = {"tracked": {"model": {"weight": torch.zeros(1)}}}
    id = CheckpointId(number, position.step)
    about = {"epoch": position.epoch, "cursor": position.cursor, "parent": parent}
    catalogue.stage(id, state, **about).publish()
