from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.goodput import CAUSES, Goodput, Interval, Reason, WorldRecord, goodput

SPEED = {1: 10.0, 2: 20.0, 3: 30.0}
"""Samples a second by nodes; a step of n nodes takes 10 n samples, so a step takes one second."""


def world(
    number: int,
    size: int,
    *,
    start: float,
    steps: range,
    committed: int | None = None,
    reason: Reason = "notice",
    published: float | None = None,
) -> WorldRecord:
    """Trains from `start` on, one second a step, and commits all unless told otherwise."""
    return WorldRecord(
        number=number,
        size=size,
        reason=reason,
        published_at=start if published is None else published,
        first_step_at=start + 1,
        last_step_at=start + len(steps),
        first_step=steps[0],
        last_step=steps[-1],
        ended_at=start + len(steps),
        committed_step=steps[-1] if committed is None else committed,
        samples_per_step=10.0 * size,
    )


def unused(number: int, at: float) -> WorldRecord:
    return WorldRecord(
        number=number,
        size=2,
        reason="loss",
        published_at=at,
        first_step_at=None,
        last_step_at=None,
        first_step=None,
        last_step=None,
        ended_at=at,
        committed_step=0,
        samples_per_step=0,
    )


def lost(result: Goodput) -> dict[str, float]:
    """Losses in samples, without those that are zero."""
    samples = {cause: share * result.capacity_samples for cause, share in result.lost.items()}
    return {cause: round(number, 6) for cause, number in samples.items() if abs(number) > 1e-6}


def test_nodes_that_always_train_have_a_goodput_of_one() -> None:
    result = goodput([world(1, 2, start=0, steps=range(1, 101))], [(0, 100), (0, 100)])
    assert result.fraction == pytest.approx(1)
    assert result.useful_seconds == pytest.approx(100)
    assert result.useful_samples == result.capacity_samples == pytest.approx(2000)
    assert lost(result) == {}


def test_start_and_end_of_a_job_count_against_it() -> None:
    result = goodput([world(1, 2, start=20, steps=range(1, 71))], [(0, 100), (0, 100)])
    assert result.fraction == pytest.approx(0.7)
    assert lost(result) == {"starting": 400, "closing": 200}


def test_a_planned_change_costs_its_pause_and_nothing_else() -> None:
    """Two nodes leave one at 50 s; re-forming takes 4 s, in which one node stays alive."""
    worlds = [world(1, 2, start=0, steps=range(1, 51)), world(2, 1, start=54, steps=range(51, 97))]
    result = goodput(worlds, [(0, 100), (0, 50)], full_speed=SPEED)
    assert lost(result) == {"forming": 40}
    assert result.fraction == pytest.approx(1460 / 1500)


def test_a_node_that_still_boots_is_idle_until_its_world() -> None:
    worlds = [world(1, 1, start=0, steps=range(1, 61)), world(2, 2, start=62, steps=range(61, 99))]
    result = goodput(worlds, [(0, 100), (40, 100)], full_speed=SPEED)
    # 20 s of one node beside the first world; then both stand still for 2 s
    assert lost(result) == {"idle": 200, "forming": 40}


def test_a_loss_costs_the_steps_that_are_done_again() -> None:
    worlds = [
        world(1, 2, start=0, steps=range(1, 51), committed=40, reason="loss"),
        world(2, 2, start=53, steps=range(41, 88)),
    ]
    result = goodput(worlds, [(0, 100), (0, 100)])
    assert lost(result) == {"redone": 200, "forming": 60}
    assert result.useful_samples == pytest.approx(87 * 20)


def test_an_older_checkpoint_makes_earlier_worlds_work_worthless_too() -> None:
    """The newest checkpoints were damaged: the third world went on from step 30 of the first."""
    worlds = [
        world(1, 2, start=0, steps=range(1, 41)),
        world(2, 2, start=40, steps=range(41, 61)),
        world(3, 2, start=60, steps=range(31, 71)),
    ]
    assert lost(goodput(worlds, [(0, 100), (0, 100)])) == {"redone": (10 + 20) * 20}


def test_a_world_that_never_trained_is_part_of_the_pause() -> None:
    worlds = [
        world(1, 2, start=0, steps=range(1, 51)),
        unused(2, at=52),
        world(3, 2, start=60, steps=range(51, 91)),
    ]
    assert lost(goodput(worlds, [(0, 100), (0, 100)])) == {"forming": 200}


def test_steps_after_the_last_commit_are_lost() -> None:
    result = goodput([world(1, 1, start=0, steps=range(1, 11), committed=8)], [(0, 10)])
    assert result.fraction == pytest.approx(0.8)
    assert lost(result) == {"redone": 20}


def test_a_job_that_committed_nothing_has_a_goodput_of_zero() -> None:
    result = goodput([world(1, 1, start=0, steps=range(1, 11), committed=0)], [(0, 10)])
    assert result.fraction == 0
    assert sum(result.lost.values()) == pytest.approx(1)


def test_imperfect_scaling_is_no_loss() -> None:
    """Two nodes do 1.5 times what one does, and always train: that is e(n), not goodput."""
    crowd = replace(world(1, 2, start=0, steps=range(1, 51)), samples_per_step=15)
    alone = world(2, 1, start=50, steps=range(51, 101))
    result = goodput([crowd, alone], [(0, 50), (0, 100)])
    assert result.fraction == pytest.approx(1)
    assert lost(result) == {}


def test_no_job_keeps_more_than_its_nodes_could_do() -> None:
    """Two workers that share a processor are slower than one: beside the other it does more."""
    crowd = replace(world(1, 2, start=0, steps=range(1, 51)), samples_per_step=5)
    alone = world(2, 1, start=50, steps=range(51, 101))
    result = goodput([crowd, alone], [(0, 100), (0, 100)])
    assert result.fraction == pytest.approx(1)
    assert result.useful_samples == pytest.approx(result.capacity_samples) == pytest.approx(750)


def test_stalls_show_against_a_speed_measured_elsewhere() -> None:
    slow = replace(world(1, 1, start=0, steps=range(1, 81)), first_step_at=1.25, last_step_at=100)
    result = goodput([slow], [(0, 100)], full_speed=SPEED)
    assert result.fraction == pytest.approx(0.8)
    assert result.lost["stalled"] == pytest.approx(0.2, abs=0.01)
    assert goodput([slow], [(0, 100)]).fraction == pytest.approx(1, abs=0.01)


def test_time_without_nodes_costs_nothing() -> None:
    worlds = [world(1, 1, start=0, steps=range(1, 11)), world(2, 1, start=50, steps=range(11, 21))]
    assert goodput(worlds, [(0, 10), (50, 60)]).fraction == pytest.approx(1)


def test_a_size_that_was_never_measured_scales_from_the_nearest() -> None:
    result = goodput([world(1, 2, start=0, steps=range(1, 11))], [(0, 10), (0, 10), (0, 10)])
    assert result.capacity_samples == pytest.approx(300)
    assert lost(result) == {"idle": 100}


@given(
    lives=st.lists(
        st.tuples(
            st.integers(1, 3),  # nodes in the world
            st.integers(0, 30),  # pause before it
            st.integers(2, 50),  # steps
            st.integers(0, 20),  # of them not committed
            st.integers(0, 2),  # spare nodes while it trains
        ),
        min_size=1,
        max_size=8,
    )
)
def test_causes_add_up_and_match_a_job_played_by_hand(
    lives: list[tuple[int, int, int, int, int]],
) -> None:
    worlds: list[WorldRecord] = []
    nodes: list[Interval] = []
    expected = dict.fromkeys(CAUSES, 0.0)
    clock, done, useful = 0.0, 0, 0.0
    for number, (size, pause, steps, undone, spares) in enumerate(lives, start=1):
        undone = min(undone, steps)
        nodes += [(clock, clock + pause + steps)] * size
        nodes += [(clock + pause, clock + pause + steps)] * spares
        expected["forming" if worlds else "starting"] += pause * size * 10
        expected["idle"] += steps * spares * 10
        expected["redone"] += undone * size * 10
        useful += (steps - undone) * size * 10
        clock += pause
        numbers = range(done + 1, done + steps + 1)
        done += steps - undone
        worlds.append(world(number, size, start=clock, steps=numbers, committed=done))
        clock += steps
    result = goodput(worlds, nodes)
    assert result.useful_samples == pytest.approx(useful)
    assert sum(result.lost.values()) == pytest.approx(1 - result.fraction)
    for cause, samples in expected.items():
        assert result.lost[cause] * result.capacity_samples == pytest.approx(samples, abs=1e-6)


@pytest.mark.parametrize(
    ("worlds", "nodes", "options", "words"),
    [
        pytest.param([unused(1, 0)], [(0, 9)], {}, "pass full_speed", id="no speed"),
        pytest.param([], [(0, 9)], {"full_speed": {2: 0.0}}, "must be above 0", id="zero speed"),
        pytest.param([], [], {"full_speed": SPEED}, "lives of the job's nodes", id="no nodes"),
        pytest.param([], [(9, 0)], {"full_speed": SPEED}, "in order", id="backwards"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    worlds: list[WorldRecord], nodes: list[Interval], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        goodput(worlds, nodes, **options)


def test_a_job_that_never_trained_only_started() -> None:
    result = goodput([unused(1, at=5)], [(0, 10)], full_speed=SPEED)
    assert (result.fraction, lost(result)) == (0, {"starting": 100})
