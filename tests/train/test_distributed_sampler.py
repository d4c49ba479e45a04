"""The sampler under torch's name: exact where torch's own loses and repeats samples."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.elastic.utils.data.elastic_distributed_sampler import (
    ElasticDistributedSampler as Torchs,
)
from torch.utils.data import DataLoader, TensorDataset

from spotrain.train import ElasticDistributedSampler


def data(size: int) -> TensorDataset:
    return TensorDataset(torch.arange(size))


def consume(size: int, worlds: list[tuple[int, int]], batch: int, kind: type) -> Counter[int]:
    """An epoch through worlds of (ranks, steps), the last one to its end."""
    seen: Counter[int] = Counter()
    start = 0
    for number, (ranks, steps) in enumerate(worlds):
        samplers = [kind(data(size), ranks, rank, start) for rank in range(ranks)]
        per_rank = [list(sampler) for sampler in samplers]
        count = len(per_rank[0]) if number == len(worlds) - 1 else steps * batch
        for own in per_rank:
            seen.update(own[:count])
        start = min(size, start + count * ranks)
        if start == size:
            break
    return seen


@given(
    size=st.integers(1, 200),
    worlds=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 6)), min_size=1, max_size=6),
    batch=st.integers(1, 5),
)
def test_no_sample_is_lost_and_only_the_declared_padding_repeats(
    size: int, worlds: list[tuple[int, int]], batch: int
) -> None:
    seen = consume(size, worlds, batch, ElasticDistributedSampler)
    assert set(seen) == set(range(size))
    assert sum(seen.values()) - size < max(ranks for ranks, _ in worlds)


def test_torchs_own_loses_samples_where_this_one_loses_none() -> None:
    worlds = [(8, 6), (7, 4), (5, 5), (8, 0)]
    assert len(consume(5000, worlds, 32, Torchs)) < 0.8 * 5000
    assert len(consume(5000, worlds, 32, ElasticDistributedSampler)) == 5000


def test_epochs_differ_and_only_the_first_one_begins_in_its_midst() -> None:
    sampler = ElasticDistributedSampler(data(100), 1, 0, 40)
    sampler.set_epoch(3)
    first = list(sampler)
    sampler.set_epoch(4)
    second = list(sampler)
    assert (len(first), len(second)) == (60, 100)
    whole = ElasticDistributedSampler(data(100), 1, 0)
    whole.set_epoch(3)
    assert list(whole)[40:] == first
    assert list(whole) != second


def test_it_works_in_a_data_loader_and_says_its_padding() -> None:
    sampler = ElasticDistributedSampler(data(10), 4, 3)
    assert (len(sampler), sampler.padding) == (3, 2)
    assert sum(len(batch) for (batch,) in DataLoader(data(10), 2, sampler=sampler)) == 3


@pytest.mark.parametrize("start", [-1, 11])
def test_a_start_outside_of_the_data_set_is_refused(start: int) -> None:
    with pytest.raises(ValueError, match=f"start_index is {start}, but must be between 0 and 10"):
        ElasticDistributedSampler(data(10), 1, 0, start)
