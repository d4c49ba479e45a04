"""How far it is to the end of training, as rank 0 tells: what is done and what is left is the whole
at every step."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic
from spotrain.agent.rank import Assignment
from spotrain.train import progress
from spotrain.train.batching import Batching
from spotrain.train.position import Position
from spotrain.train.solo import SoloChannel
from tests.train.alone import train_alone
from tests.train.test_batching import GLOBAL, PER_RANK, SIZES, WORLDS, steps_of

SAMPLES, BATCH, EPOCHS = 10, 4, 3


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int | None]]:
    """(steps done, steps left) of every report; there is one at every step."""
    reports: list[tuple[int, int | None]] = []

    def hear(_channel: SoloChannel, _world: int, **report: Any) -> None:
        reports.append((report["step"], report["steps_left"]))

    monkeypatch.setattr(SoloChannel, "progress", hear)
    monkeypatch.setattr(progress, "PROGRESS_SECONDS", 0.0)
    return reports


def train(run: elastic.Run, *, epochs: int, most_steps: int, drop_last: bool = False) -> None:
    model = nn.Linear(1, 1)
    data = TensorDataset(torch.zeros(SAMPLES, 1))
    loader = run.loader(data, batch_size=BATCH, drop_last=drop_last)
    run.track(model=model)
    steps = 0
    for _ in run.epochs(epochs):
        for _ in loader:
            run.step()
            steps += 1
            if steps == most_steps:
                return
        run.log(accuracy=1.0)


@pytest.mark.parametrize(("drop_last", "of_an_epoch"), [(False, 3), (True, 2)])
def test_what_is_done_and_what_is_left_is_the_whole_at_every_step(
    told: list[tuple[int, int | None]], tmp_path: Path, drop_last: bool, of_an_epoch: int
) -> None:
    whole = EPOCHS * of_an_epoch
    train_alone(lambda run: train(run, epochs=EPOCHS, most_steps=99, drop_last=drop_last), tmp_path)
    assert {step + (left or 0) for step, left in told} == {whole}
    assert told[-1] == (whole, 0)


def test_who_finds_training_at_its_end_tells_where_that_is(
    told: list[tuple[int, int | None]], tmp_path: Path
) -> None:
    def whole(run: elastic.Run) -> None:
        train(run, epochs=EPOCHS, most_steps=99)

    train_alone(whole, tmp_path)
    last = told[-1]
    told.clear()
    train_alone(whole, tmp_path)
    assert told == [last]


def test_of_training_without_an_end_nothing_is_left_nor_done(
    told: list[tuple[int, int | None]], tmp_path: Path
) -> None:
    train_alone(lambda run: train(run, epochs=sys.maxsize, most_steps=4), tmp_path)
    assert {left for _, left in told} == {None}


@given(SIZES, st.one_of(GLOBAL, PER_RANK), WORLDS, st.integers(1, 3))
def test_in_a_world_of_any_size_each_step_is_one_less(
    size: int, batching: Batching, world_size: int, epochs: int
) -> None:
    place = cast(Assignment, SimpleNamespace(world_size=world_size))
    position = Position(seed=0, size=size, batching=batching, place=place, epochs=epochs)
    steps = steps_of(size, batching, world_size)
    left = epochs * len(steps)
    for epoch in range(epochs):
        assert position.epoch == epoch
        for step in steps:
            assert position.steps_left == left
            position.cursor = step[0][-1].cursor
            left -= 1
        position.end_epoch()
    assert position.steps_left == left == 0
