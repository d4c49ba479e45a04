"""The size of a step: exact in samples, and its gradient that of one process, in any world."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from spotrain.train.batching import Batching, choose
from spotrain.train.sampler import Batch, ElasticBatchSampler, permutation
from spotrain.train.usage import UsageError

SEED, EPOCH = 7, 3
SIZES = st.integers(1, 200)
WORLDS = st.integers(1, 16)
GLOBAL = st.tuples(st.integers(1, 60), st.integers(1, 60)).map(
    lambda two: Batching(min(two), global_batch=max(two))
)
PER_RANK = st.builds(Batching, st.integers(1, 12), st.integers(1, 4))


def steps_of(
    size: int, batching: Batching, world_size: int, cursor: int = 0
) -> list[list[list[Batch]]]:
    """Per step and rank the batches; unequal counts raise, where a collective would hang."""
    ranks = [
        list(
            _steps(
                ElasticBatchSampler(
                    size,
                    batch_size=batching,
                    rank=rank,
                    world_size=world_size,
                    seed=SEED,
                    epoch=EPOCH,
                    cursor=cursor,
                ).batches()
            )
        )
        for rank in range(world_size)
    ]
    return [list(step) for step in zip(*ranks, strict=True)]


def _steps(batches: Iterator[Batch]) -> Iterator[list[Batch]]:
    step: list[Batch] = []
    for batch in batches:
        step.append(batch)
        if batch.ends_step:
            yield step
            step = []
    assert not step, "a step without an end"


def new_samples(step: list[list[Batch]]) -> list[int]:
    return [
        index
        for rank in step
        for batch in rank
        for index in batch.indices[: len(batch.indices) - batch.padding]
    ]


@given(size=SIZES, batching=GLOBAL, world_size=WORLDS)
def test_a_step_of_constant_size_has_the_same_samples_in_a_world_of_any_size(
    size: int, batching: Batching, world_size: int
) -> None:
    order = permutation(size, seed=SEED, epoch=EPOCH).tolist()
    whole = batching.step_samples(world_size)
    expected = [order[start : start + whole] for start in range(0, size, whole)]
    assert [new_samples(step) for step in steps_of(size, batching, world_size)] == expected


@given(size=SIZES, batching=GLOBAL | PER_RANK, world_size=WORLDS)
def test_every_rank_has_as_many_batches_in_a_step_and_none_is_too_large(
    size: int, batching: Batching, world_size: int
) -> None:
    steps = steps_of(size, batching, world_size)
    for step in steps:
        assert len({len(rank) for rank in step}) == 1
        assert {batch.samples for rank in step for batch in rank} == {len(new_samples(step))}
        largest = max(len(batch.indices) for rank in step for batch in rank)
        assert largest <= batching.micro_batch + (not batching.is_global)
    assert sum(len(step[0]) for step in steps) == len(
        ElasticBatchSampler(
            size,
            batch_size=batching,
            rank=0,
            world_size=world_size,
            seed=SEED,
            epoch=EPOCH,
        )
    )


@given(
    size=SIZES,
    batching=GLOBAL | PER_RANK,
    worlds=st.lists(st.tuples(WORLDS, st.integers(0, 4)), max_size=5),
)
def test_any_sequence_of_worlds_takes_every_sample_once_and_counts_it_at_the_steps_end(
    size: int, batching: Batching, worlds: list[tuple[int, int]]
) -> None:
    taken: list[int] = []
    cursor = 0
    for world_size, count in [*worlds, (3, size)]:
        for step in steps_of(size, batching, world_size, cursor)[:count]:
            taken += new_samples(step)
            assert {batch.cursor for rank in step for batch in rank} == {len(taken)}
        cursor = len(taken)
    assert sorted(taken) == list(range(size))


@pytest.mark.parametrize("world_size", range(1, 17))
@pytest.mark.parametrize(
    "batching",
    [
        pytest.param(Batching(5, global_batch=13), id="constant-step"),
        pytest.param(Batching(1, global_batch=7), id="fewer-samples-than-ranks"),
        pytest.param(Batching(3, accumulate=2), id="constant-share"),
    ],
)
def test_the_gradient_is_that_of_one_process(batching: Batching, world_size: int) -> None:
    size = 101
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(size, 3, dtype=torch.float64, generator=generator)
    y = torch.randn(size, 1, dtype=torch.float64, generator=generator)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def gradient(loss: torch.Tensor) -> torch.Tensor:
        grads = torch.autograd.grad(loss, list(model.parameters()))
        return torch.cat([grad.flatten() for grad in grads])

    def mean_loss(indices: list[int]) -> torch.Tensor:
        return nn.functional.mse_loss(model(x[indices]), y[indices])

    for step in steps_of(size, batching, world_size):
        ranks = [  # what each rank accumulates, then the mean over ranks, as torch reduces it
            sum(gradient(mean_loss(batch.indices) * batch.weight) for batch in rank)
            for rank in step
        ]
        mean = torch.stack([torch.as_tensor(rank) for rank in ranks]).mean(0)
        expected = gradient(mean_loss(new_samples(step)))
        torch.testing.assert_close(mean, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({}, "give batch_size=", id="nothing"),
        pytest.param({"batch_size": 0}, "batch_size=0.*from 1", id="zero"),
        pytest.param({"batch_size": 2.0}, "batch_size=2.0.*whole", id="fraction"),
        pytest.param({"micro_batch": 8}, "micro_batch=8 belongs to global_batch", id="micro"),
        pytest.param(
            {"batch_size": 8, "micro_batch": 8}, "belongs to global_batch", id="share-and-micro"
        ),
        pytest.param(
            {"batch_size": 8, "global_batch": 64}, "batch_size=8 contradicts", id="both-sizes"
        ),
        pytest.param(
            {"global_batch": 64, "micro_batch": 8, "accumulate": 2},
            "accumulate=2 contradicts",
            id="accumulate",
        ),
        pytest.param({"global_batch": 64}, "needs micro_batch", id="no-micro"),
        pytest.param({"global_batch": 8, "micro_batch": 64}, "other way round", id="swapped"),
        pytest.param(
            {"global_batch": 101, "micro_batch": 8}, "data set has 100 samples", id="too-large"
        ),
    ],
)
def test_contradictions_are_refused_with_what_to_say_instead(
    given: dict[str, Any], said: str
) -> None:
    complete: dict[str, Any] = {
        "batch_size": None,
        "accumulate": 1,
        "global_batch": None,
        "micro_batch": None,
    }
    with pytest.raises(UsageError, match=said):
        choose(**(complete | given), size=100)
