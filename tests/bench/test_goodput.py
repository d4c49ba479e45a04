"""A short trace for real, and how its steps become a goodput and a table."""

from pathlib import Path

import pytest

from bench.train.goodput import report
from bench.train.goodput.__main__ import stretch
from bench.train.goodput.account import account, records, speed_of, work_done, work_of_nodes
from bench.train.goodput.play import Played, play
from bench.train.peers.launchers import SESSION
from bench.train.peers.steps import StepDone
from spotrain.ledger.goodput import CAUSES
from spotrain.ledger.traces import Trace


def steps(world: str, size: int, numbers: range, *, at: float) -> list[StepDone]:
    """One step a second, on every rank."""
    return [
        StepDone(at=at + n, worker=f"w{rank}", world=world, size=size, rank=rank, step=number)
        for n, number in enumerate(numbers)
        for rank in range(size)
    ]


def test_a_job_on_a_trace_keeps_what_it_did_before_a_notice(tmp_path: Path) -> None:
    trace = Trace(((0.0, 2), (9.0, 1), (12.0, 2)), 16.0)
    played = play(SESSION, tmp_path, trace, factor=20, step_seconds=0.1)
    assert len(played.nodes) == 3
    assert [end == trace.seconds for _, end in played.nodes].count(False) == 1
    judged = account(played, {1: 320.0, 2: 640.0}, batch=32)
    assert judged.lost["redone"] == 0
    assert 0 <= judged.fraction <= 1.2


def test_steps_that_are_done_twice_count_once() -> None:
    done = steps("a", 2, range(1, 11), at=1.0) + steps("b", 1, range(6, 11), at=21.0)
    played = Played(done, nodes=[(0.0, 25.0), (0.0, 15.0)], restarts=0)
    judged = account(played, {1: 10.0, 2: 20.0}, batch=10)
    # Five steps of two ranks and five of one are kept, in 15 s with two nodes and 10 s with one.
    assert judged.fraction == pytest.approx((5 * 20 + 5 * 10) / (15 * 20 + 10 * 10))
    assert judged.lost["redone"] == pytest.approx(5 * 20 / 400)


def test_worlds_are_told_apart_by_what_their_first_rank_wrote() -> None:
    made = records(steps("a", 2, range(1, 4), at=1.0) + steps("b", 3, range(4, 6), at=9.0), batch=8)
    assert [(world.size, world.first_step, world.last_step) for world in made] == [
        (2, 1, 3),
        (3, 4, 5),
    ]
    assert [world.samples_per_step for world in made] == [16, 24]


def test_full_speed_counts_the_samples_of_all_ranks() -> None:
    assert speed_of(steps("a", 2, range(1, 11), at=0.0), batch=8) == pytest.approx(16)


def test_the_busiest_stretch_has_losses_and_growth() -> None:
    window = stretch(600, 20)
    assert window.seconds == 12_000
    assert window.drops >= 5


def test_the_table_holds_each_peer_to_its_goal() -> None:
    lost = dict.fromkeys(CAUSES, 0.1)
    part = {"goodput": 0.9, "lost": lost, "restarts": 0, "nodes": [(0.0, 30.0)]}
    found = {
        "at": "2026-08-11T10:00:00",
        "machine": {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]},
        "load_after": [2.0],
        "calm": {"speed": {"1": 320.0}, "cpu_seconds": {"1": 0.004}, "start_seconds": 3.0},
        "trace": {"seconds": 12_000, "factor": 20, "drops": 6},
        "limit": [0.94, 0.94],
        "step_seconds": 0.1,
        "played": {"session": [part], "stock": [part | {"goodput": 0.7}]},
    }
    text = report.block(found)
    assert ">= 0.893 (0.95 x limit) | met |" in text
    assert "ours 1.29 x this | missed |" in text
    assert "each node's own start, it is 0.900." in text


def test_work_that_is_done_again_goes_off_the_figure() -> None:
    done = [(1.0, 2, 1), (2.0, 2, 2), (3.0, 2, 3), (9.0, 1, 3), (10.0, 1, 4)]
    assert work_done(done, end=12.0) == [
        (0.0, 0.0),
        (1.0, 2.0),
        (2.0, 4.0),
        (3.0, 6.0),
        (9.0, 5.0),
        (10.0, 6.0),
        (12.0, 6.0),
    ]


def test_nodes_could_do_a_step_at_a_time_from_the_first_moment_of_their_lives() -> None:
    assert work_of_nodes([(0.0, 10.0), (4.0, 8.0)], 0.5) == [
        (0.0, 0.0),
        (4.0, 8.0),
        (8.0, 24.0),
        (10.0, 28.0),
    ]
