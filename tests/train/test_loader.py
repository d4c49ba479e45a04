"""The data loader: real worker processes read ahead, and what nobody consumed does not count."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset

from spotrain.agent.rank import Assignment
from spotrain.train.batching import Batching
from spotrain.train.loader import ElasticLoader
from spotrain.train.position import Position


class Numbers(Dataset[tuple[int, float]]):
    """Each sample is its index and a random number, as an augmentation would draw one."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> tuple[int, float]:
        return index, float(torch.rand(()))


def place(number: int, rank: int, world_size: int) -> Assignment:
    return Assignment(
        number=number,
        rank=rank,
        world_size=world_size,
        local_rank=0,
        local_world_size=1,
        group_rank=rank,
        group_world_size=world_size,
        store_host="",
        store_port=0,
        restore=None,
    )


def loader_of(size: int, position: Position, workers: int) -> ElasticLoader:
    options = {"num_workers": workers}
    if workers:
        options["prefetch_factor"] = 4
    return ElasticLoader(
        Numbers(size),
        position,
        Batching(3),
        shuffle=True,
        drop_last=False,
        options=options,
    )


@settings(max_examples=4, deadline=None)
@given(
    size=st.integers(40, 90),
    workers=st.integers(1, 2),
    worlds=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2),
    last=st.integers(1, 2),
)
def test_batches_that_workers_have_read_ahead_count_only_once_they_are_consumed(
    size: int, workers: int, worlds: list[tuple[int, int]], last: int
) -> None:
    """One iteration of each rank goes through all worlds; a newcomer begins at the position."""
    consumed: Counter[int] = Counter()
    cursor = step = 0
    for number, (world_size, steps) in enumerate([*worlds, (last, size)], start=1):
        after = []
        for rank in range(world_size):
            position = Position(seed=5, step=step, cursor=cursor)
            position.place = place(number, rank, world_size)
            for ids, _ in loader_of(size, position, workers):
                consumed.update(ids.tolist()[: len(ids) - position.unstepped[-1].padding])
                position.take_step()
                if position.step == step + steps:
                    break
            after.append((position.step, position.cursor))
        ((step, cursor),) = set(after)
        assert consumed.total() == cursor
    assert consumed == Counter(range(size))


def test_an_iteration_goes_on_with_its_share_of_the_next_world() -> None:
    position = Position(seed=5)
    position.place = place(1, 0, 2)
    seen = []
    for ids, _ in loader_of(24, position, workers=2):
        seen += ids.tolist()
        position.take_step()
        if position.step == 2:  # twelve samples of two ranks are gone; now it is alone
            position.place = place(2, 0, 1)
    assert len(seen) == len(set(seen)) == 6 + 12
    assert position.cursor == 24


def draws(workers: int, *, start: int = 0) -> list[tuple[list[float], float]]:
    """Per batch: what the data set has drawn, and what a dropout would draw."""
    position = Position(seed=5, step=start, cursor=3 * start)
    position.place = place(1, 0, 1)
    found = []
    for _, drawn in loader_of(21, position, workers):
        found.append((drawn.tolist(), float(torch.rand(()))))
        position.take_step()
    return found


def test_what_is_drawn_at_random_depends_on_the_position_alone() -> None:
    here = draws(0)
    assert draws(2) == here
    assert draws(0, start=3) == here[3:]
    assert len({number for drawn, dropped in here for number in (*drawn, dropped)}) == 28


def test_other_ranks_draw_other_numbers() -> None:
    dropped = []
    for rank in range(2):
        position = Position(seed=5)
        position.place = place(1, rank, 2)
        next(iter(loader_of(21, position, 0)))
        dropped.append(float(torch.rand(())))
    assert dropped[0] != dropped[1]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_set_that_reads_batches_is_asked_for_batches(workers: int) -> None:
    class Batched(Numbers):
        def __getitems__(self, indices: list[int]) -> list[tuple[int, float]]:
            return [(index, 0.5) for index in indices]

    position = Position(seed=5)
    position.place = place(1, 0, 1)
    loader = loader_of(6, position, workers)
    loader.dataset = Batched(6)
    assert [drawn.tolist() for _, drawn in loader] == [[0.5] * 3] * 2
