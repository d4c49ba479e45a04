"""The goodput of a job by its ledger."""

from datetime import UTC, datetime, timedelta

import pytest

from spotrain.ledger.entries import StayEntry, WorldEntry
from spotrain.ledger.entry_goodput import goodput_of

BEGIN = datetime(2026, 8, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def world(
    number: int, start: float, end: float, *, steps: tuple[int, int], kept: int
) -> WorldEntry:
    return WorldEntry(
        number=number,
        size=1,
        published_at=at(start),
        first_step_at=at(start + 1),
        last_step_at=at(end),
        restored_step=steps[0],
        last_step=steps[1],
        committed_step=kept,
        samples_per_step=10,
        ended_at=at(end),
        reason="loss" if number == 1 else "finished",
    )


def stay(start: float, end: float) -> StayEntry:
    return StayEntry(
        pod="w", uid=str(start), gpus=1, created_at=at(0), scheduled_at=at(start), ended_at=at(end)
    )


def test_work_that_was_done_again_and_time_outside_of_worlds_are_not_kept() -> None:
    """A step a second: 100 steps, 20 of them lost, then 50 more, on a worker of 200 s."""
    worlds = [
        world(1, 0, 100, steps=(0, 100), kept=80),
        world(2, 120, 170, steps=(80, 130), kept=130),
    ]
    judged = goodput_of(worlds, [stay(0, 200)], until=at(200))
    assert judged is not None
    assert judged.fraction == pytest.approx(130 / 200)
    assert judged.lost["redone"] == pytest.approx(20 / 200)
    assert judged.lost["closing"] == pytest.approx(30 / 200)


def test_the_last_world_of_a_running_job_counts_as_it_is() -> None:
    running = world(2, 0, 100, steps=(0, 100), kept=0)
    judged = goodput_of([running], [stay(0, 500)], until=at(100))
    assert judged is not None
    assert judged.fraction == pytest.approx(1.0)


def test_without_steps_or_workers_nothing_is_said() -> None:
    assert goodput_of([], [stay(0, 10)], until=at(10)) is None
    assert goodput_of([world(2, 0, 9, steps=(0, 9), kept=9)], [], until=at(10)) is None
