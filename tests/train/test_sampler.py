import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.elastic.utils.data.elastic_distributed_sampler import (
    ElasticDistributedSampler,
)
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from spotrain.train.sampler import Batch, ElasticBatchSampler, permutation


def samplers(
    size: int, batch_size: int, world_size: int, cursor: int = 0, **options: bool
) -> list[ElasticBatchSampler]:
    return [
        ElasticBatchSampler(
            size,
            batch_size=batch_size,
            rank=rank,
            world_size=world_size,
            seed=7,
            epoch=3,
            cursor=cursor,
            **options,
        )
        for rank in range(world_size)
    ]


def global_steps(
    size: int, batch_size: int, world_size: int, cursor: int = 0
) -> Iterator[list[Batch]]:
    """What all ranks do, step by step; unequal step counts raise, where a collective would hang."""
    ranks = samplers(size, batch_size, world_size, cursor)
    return (list(step) for step in zip(*(rank.batches() for rank in ranks), strict=True))


def new_samples(batch: Batch) -> list[int]:
    return batch.indices[: len(batch.indices) - batch.padding]


WORLDS = st.lists(
    st.tuples(
        st.integers(1, 16),  # ranks
        st.integers(1, 40),  # batch size
        st.integers(0, 12),  # steps before the next change
    ),
    max_size=8,
)


@given(size=st.integers(0, 300), worlds=WORLDS, last=st.tuples(st.integers(1, 16), st.just(3)))
def test_any_sequence_of_worlds_consumes_every_sample_once(
    size: int, worlds: list[tuple[int, int, int]], last: tuple[int, int]
) -> None:
    consumed: Counter[int] = Counter()
    padding, cursor, ranks = 0, 0, 1
    for ranks, batch_size, steps in [*worlds, (*last, 1000)]:
        for _, step in zip(
            range(steps), global_steps(size, batch_size, ranks, cursor), strict=False
        ):
            consumed.update(index for rank in step for index in new_samples(rank))
            padding += sum(rank.padding for rank in step)
            assert {rank.cursor for rank in step} == {consumed.total()}
            assert padding == 0 or consumed.total() == size, "padding before the epoch's end"
            assert padding < ranks
            cursor = step[0].cursor
    assert consumed == Counter(range(size))


@given(
    size=st.integers(0, 300),
    batch_size=st.integers(1, 40),
    ranks=st.integers(1, 16),
    data=st.data(),
)
def test_batches_are_as_even_as_the_rules_say(
    size: int, batch_size: int, ranks: int, data: st.DataObject
) -> None:
    cursor = data.draw(st.integers(0, size))
    steps = list(global_steps(size, batch_size, ranks, cursor))
    for number, step in enumerate(steps, start=1):
        lengths = [len(rank.indices) for rank in step]
        assert min(lengths) >= 1
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= batch_size + 1
        if number < len(steps):
            assert set(lengths) == {batch_size}
    if any(rank.padding for step in steps for rank in step):
        assert len(steps) == 1
        assert size - cursor < ranks


@given(
    size=st.integers(0, 300),
    batch_size=st.integers(1, 40),
    ranks=st.integers(1, 16),
    drop_last=st.booleans(),
    data=st.data(),
)
def test_its_length_is_the_number_of_batches_it_gives(
    size: int, batch_size: int, ranks: int, drop_last: bool, data: st.DataObject
) -> None:
    cursor = data.draw(st.integers(0, size))
    for sampler in samplers(size, batch_size, ranks, cursor, drop_last=drop_last):
        assert len(sampler) == len(list(sampler)) == len(list(sampler.batches()))


def test_torchs_own_elastic_sampler_loses_and_repeats_samples() -> None:
    """Why ours exists: `start_index` shuffles the range after it, not the samples not yet seen."""
    data: Any = range(300)
    consumed: Counter[int] = Counter()
    start, batch_size = 0, 5
    for ranks, steps in [(4, 5), (3, 8), (5, 1000)]:
        parts: list[list[int]] = [
            list(ElasticDistributedSampler(data, num_replicas=ranks, rank=rank, start_index=start))
            for rank in range(ranks)
        ]
        for part in parts:
            consumed.update(part[: steps * batch_size])
        start += steps * batch_size * ranks
    lost = 300 - len(consumed)
    repeated = consumed.total() - len(consumed)
    assert lost > 50
    assert repeated > 50

    exact: Counter[int] = Counter()
    cursor = 0
    for ranks, steps in [(4, 5), (3, 8), (5, 1000)]:
        for _, step in zip(
            range(steps), global_steps(300, batch_size, ranks, cursor), strict=False
        ):
            exact.update(index for rank in step for index in rank.indices)
            cursor = step[0].cursor
    assert exact == Counter(range(300))


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    one = [i for step in global_steps(100, 7, 1) for rank in step for i in rank.indices]
    four = [i for step in global_steps(100, 5, 4) for rank in step for i in rank.indices]
    assert one == four == permutation(100, seed=7, epoch=3).tolist()


def test_neighbouring_seeds_and_epochs_share_no_order() -> None:
    orders = {
        tuple(permutation(50, seed=seed, epoch=epoch).tolist())
        for seed in (0, 1, 2, 2**32)
        for epoch in (0, 1, 2)
    }
    assert len(orders) == 12


def test_the_order_is_the_same_in_every_torch_release() -> None:
    """If this fails, a job resumed in an image with that torch loses samples: see permutation."""
    assert permutation(10, seed=0, epoch=0).tolist() == [9, 5, 0, 3, 8, 6, 7, 2, 4, 1]
    assert permutation(100_000, seed=1, epoch=2)[:5].tolist() == [29905, 18475, 20614, 87232, 32910]


def test_without_shuffle_the_order_is_the_datasets() -> None:
    (sampler,) = samplers(7, 3, 1, shuffle=False)
    assert list(sampler) == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize(
    ("size", "batch_size", "ranks", "expected"),
    [
        pytest.param(0, 4, 3, [[], [], []], id="an empty dataset has no step"),
        pytest.param(8, 2, 2, [[2, 2], [2, 2]], id="an even epoch is cut evenly"),
        pytest.param(9, 2, 2, [[2, 3], [2, 2]], id="a rest below the world joins the last step"),
        pytest.param(11, 2, 2, [[2, 2, 2], [2, 2, 1]], id="a larger rest is a step of its own"),
        pytest.param(2, 4, 3, [[1], [1], [1]], id="fewer samples than ranks are padded"),
        pytest.param(1, 4, 3, [[1], [1], [1]], id="one sample is enough for a step"),
    ],
)
def test_the_end_of_an_epoch(
    size: int, batch_size: int, ranks: int, expected: list[list[int]]
) -> None:
    lengths = [[len(batch) for batch in sampler] for sampler in samplers(size, batch_size, ranks)]
    assert lengths == expected


def test_padding_is_declared_by_the_ranks_that_repeat() -> None:
    (step,) = global_steps(2, 4, 5)
    order = permutation(2, seed=7, epoch=3).tolist()
    assert [rank.padding for rank in step] == [0, 0, 1, 1, 1]
    assert [rank.indices for rank in step] == [[order[i]] for i in (0, 1, 0, 1, 0)]


def test_drop_last_keeps_all_batches_equal() -> None:
    lengths = [[len(batch) for batch in sampler] for sampler in samplers(11, 2, 2, drop_last=True)]
    assert lengths == [[2, 2], [2, 2]]


def test_an_epoch_already_consumed_has_no_step() -> None:
    assert [list(sampler) for sampler in samplers(10, 4, 2, cursor=10)] == [[], []]


def test_a_data_loader_takes_it_as_batch_sampler() -> None:
    (sampler,) = samplers(10, 4, 1)
    loader = DataLoader(TensorDataset(torch.arange(10)), batch_sampler=sampler)
    assert [batch.tolist() for (batch,) in loader] == list(sampler)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        pytest.param({"size": -1}, ValueError, "size is -1.*at least 0.*len", id="size"),
        pytest.param({"batch_size": 0}, ValueError, "batch_size is 0.*at least 1", id="batch"),
        pytest.param({"world_size": 0}, ValueError, "world_size is 0.*at least 1", id="world"),
        pytest.param({"rank": 2}, ValueError, "rank is 2.*between 0 and 1", id="rank"),
        pytest.param({"rank": -1}, ValueError, "rank is -1.*between 0 and 1", id="negative rank"),
        pytest.param({"epoch": -1}, ValueError, "epoch is -1.*at least 0", id="epoch"),
        pytest.param({"cursor": 11}, ValueError, "cursor is 11.*same dataset", id="cursor"),
        pytest.param({"batch_size": 2.5}, TypeError, "batch_size is 2.5.*whole", id="fraction"),
    ],
)
def test_bad_arguments_are_refused(
    change: dict[str, Any], error: type[Exception], words: str
) -> None:
    good: dict[str, Any] = {
        "size": 10,
        "batch_size": 2,
        "rank": 0,
        "world_size": 2,
        "epoch": 0,
        "seed": 0,
    }
    arguments = good | change
    with pytest.raises(error, match=words):
        ElasticBatchSampler(arguments.pop("size"), **arguments)


def test_its_time_per_index_is_near_the_stock_samplers() -> None:
    """A generous limit: it is there to catch Python work per index, which costs ten times more."""
    size, batch_size, ranks = 400_000, 64, 4
    data: Any = range(size)

    def stock() -> None:
        indices: Iterator[int] = iter(DistributedSampler(data, num_replicas=ranks, rank=1))
        while batch := [i for _, i in zip(range(batch_size), indices, strict=False)]:
            assert batch

    def ours() -> None:
        for batch in samplers(size, batch_size, ranks)[1]:
            assert batch

    assert best_seconds(ours) < 2 * best_seconds(stock)


def best_seconds(work: Callable[[], None]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
