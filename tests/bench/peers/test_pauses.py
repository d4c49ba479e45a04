"""What an event has cost is told from the steps that the ranks wrote down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.train.peers.pauses import (
    Change,
    change_after,
    steps_of_newest_world,
    worker_of_rank,
)
from bench.train.peers.steps import StepDone


def steps_of(
    world: str, size: int, *, first: int, count: int, at: float, every: float = 1.0
) -> list[StepDone]:
    return [
        StepDone(
            at=at + every * number,
            worker=f"w{rank}",
            world=world,
            size=size,
            rank=rank,
            step=first + number,
        )
        for number in range(count)
        for rank in range(size)
    ]


def test_the_cost_of_a_loss_is_told() -> None:
    before = steps_of("a", 2, first=1, count=10, at=0.0)
    after = steps_of("b", 1, first=8, count=3, at=14.0)
    assert change_after(before + after, 9.5, size=1) == Change(
        from_event=4.5, pause=5.0, lost_steps=3, before="a", after="b"
    )


def test_a_change_that_loses_nothing_goes_on_at_the_next_step() -> None:
    before = steps_of("a", 2, first=1, count=10, at=0.0)
    after = steps_of("b", 3, first=11, count=3, at=9.2)
    change = change_after(before + after, 8.5, size=3)
    assert change is not None
    assert change.lost_steps == 0
    assert change.from_event == pytest.approx(0.7)
    assert change.pause == pytest.approx(0.2)


def test_steps_of_the_old_world_after_the_event_are_not_the_change() -> None:
    before = steps_of("a", 2, first=1, count=10, at=0.0)
    assert change_after(before, 3.5, size=1) is None


def test_a_world_of_another_size_is_not_waited_for_in_vain() -> None:
    worlds = [
        *steps_of("a", 3, first=1, count=5, at=0.0),
        *steps_of("b", 1, first=5, count=2, at=6.0),
        *steps_of("c", 2, first=6, count=2, at=9.0),
    ]
    change = change_after(worlds, 4.5, size=2)
    assert change is not None
    assert (change.before, change.after, change.from_event) == ("a", "c", 4.5)


def test_an_event_before_any_step_is_refused() -> None:
    with pytest.raises(ValueError, match="no step was done before the event"):
        change_after([], 1.0, size=1)


@given(st.integers(2, 5), st.integers(1, 30), st.integers(0, 30), st.floats(0.01, 100))
def test_the_arithmetic_holds_for_any_change(size: int, done: int, lost: int, pause: float) -> None:
    lost = min(lost, done)
    before = steps_of("a", size, first=1, count=done, at=0.0)
    resumed = done - 1 + pause
    after = steps_of("b", size - 1, first=done - lost + 1, count=5, at=resumed)
    change = change_after(before + after, float(done - 1), size=size - 1)
    assert change is not None
    assert change.lost_steps == lost
    assert change.from_event == change.pause == pytest.approx(pause)


def test_the_present_world_is_counted_alone() -> None:
    worlds = [
        *steps_of("a", 2, first=1, count=10, at=0.0),
        *steps_of("b", 1, first=8, count=3, at=14.0),
    ]
    assert steps_of_newest_world(worlds, size=1) == 3
    assert steps_of_newest_world(worlds, size=2) == 0
    assert steps_of_newest_world([], size=2) == 0
    assert worker_of_rank(worlds[:20], 1) == "w1"
