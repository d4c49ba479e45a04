"""What training waits for is counted from a world's first step on, and too much of it is told."""

import contextlib
import logging
from collections.abc import Iterator

import pytest

from spotrain.train.waited import WINDOW_SECONDS, Waited


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def slow(self, batches: list[int], seconds: float) -> Iterator[int]:
        for batch in batches:
            self.now += seconds
            yield batch


def train(clock: Clock, waited: Waited, *, steps: int, wait: float, work: float) -> None:
    for _ in waited.for_data(clock.slow(list(range(steps)), wait)):
        clock.now += work
        waited.count_step(3)


def test_all_batches_come_and_their_waiting_is_counted() -> None:
    clock = Clock()
    waited = Waited(clock)
    assert list(waited.for_data(clock.slow([1, 2, 3], 0.5))) == [1, 2, 3]
    assert waited.data_seconds == pytest.approx(1.5)


def test_what_comes_before_the_first_step_of_a_world_is_none_of_it() -> None:
    clock = Clock()
    waited = Waited(clock)
    for _ in range(2):
        waited.enter_world()
        train(clock, waited, steps=3, wait=0.5, work=0.1)
        assert waited.data_seconds == pytest.approx(1.0)  # of the second and third batch


def test_a_save_counts_even_if_it_fails() -> None:
    clock = Clock()
    waited = Waited(clock)
    with contextlib.suppress(OSError), waited.for_save():
        clock.now += 2
        raise OSError("disk full")
    assert waited.save_seconds == pytest.approx(2.0)


@pytest.mark.parametrize(("wait", "warnings"), [(0.05, 0), (0.09, 0), (0.12, 1), (5.0, 1)])
def test_a_rank_that_waits_for_data_more_than_a_tenth_of_its_time_is_told_so(
    wait: float, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    steps = (
        int(2.5 * WINDOW_SECONDS / (wait + 0.9)) + 2
    )  # two windows; the second is not told again
    with caplog.at_level(logging.WARNING):
        train(clock, Waited(clock), steps=steps, wait=wait, work=0.9)
    assert len(caplog.records) == warnings
    if warnings:
        share = 100 * wait / (wait + 0.9)
        assert f"rank 3 waited for its data for {share:.0f} % of the last" in caplog.text


def test_one_slow_batch_in_a_minute_is_no_slow_data_set(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    waited = Waited(clock)
    with caplog.at_level(logging.WARNING):
        train(clock, waited, steps=2, wait=0.0, work=1.0)
        train(clock, waited, steps=1, wait=5.0, work=1.0)  # an epoch begins
        train(clock, waited, steps=70, wait=0.0, work=1.0)
    assert not caplog.records
    assert waited.data_seconds == pytest.approx(5.0)
