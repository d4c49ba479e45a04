"""The page says of interruptions what the raw data says, and truly which goals are met."""

import math
from typing import Any

from bench.train.interruptions import report
from bench.train.interruptions.planned import CYCLES
from bench.train.peers.launchers import ALL
from bench.train.step_cost import report as step_cost

HEAD: dict[str, Any] = {
    "at": "2026-08-11T10:00:00",
    "machine": {"cpu": "X", "cores": 2, "python": "3.11", "torch": "2.15", "load_before": [1.0]},
    "load_after": [2.0],
}


def trials(case: str, lost: int = 0, **seconds: float | None) -> list[dict[str, Any]]:
    return [
        {
            "case": case,
            "launcher": launcher,
            "round": number,
            "from_event": value,
            "pause": value,
            "lost_steps": None if value is None else lost,
            "never": "" if value else "every agent has ended",
        }
        for launcher, value in seconds.items()
        for number in range(5)
    ]


def test_goals_of_a_loss_are_judged_by_the_tuned_peer() -> None:
    text = report.loss(HEAD | {"trials": trials("one", session=0.5, unmodified=1.8, tuned=9.0)})
    assert "| 0.056, goal <= 0.06: met | 0.2, goal <= 0.2: met |" in text
    text = report.loss(HEAD | {"trials": trials("one", session=0.6, unmodified=1.9, tuned=9.0)})
    assert "| 0.067, goal <= 0.06: missed | 0.21, goal <= 0.2: missed |" in text


def test_training_that_never_goes_on_is_told_so() -> None:
    never = trials("one", session=0.5, unmodified=1.8, tuned=9.0, stock=None)
    assert "| never (5 of 5) |" in report.loss(HEAD | {"trials": never})
    never = trials("one", session=0.5, unmodified=1.8, tuned=9.0)
    never[0] |= {"from_event": None, "pause": None, "lost_steps": None, "never": "hung"}
    text = report.loss(HEAD | {"trials": never})
    assert "| 0.50 (0.50 to 0.50), never in 1 of 5 |" in text


def test_ours_misses_its_goal_where_it_does_not_go_on() -> None:
    text = report.loss(HEAD | {"trials": trials("one", session=None, unmodified=1.0, tuned=9.0)})
    assert "goal <= 0.06: missed" in text


def test_a_single_lost_step_misses_the_goal_of_a_planned_change() -> None:
    found = trials("notice", session=0.3, leaving=4.0)
    text = report.planned("notice", HEAD | {"trials": found})
    assert "| 0 in all 5, goal 0: met | 0.075, goal <= 0.1: met |" in text
    found[0]["lost_steps"] = 1
    assert "| 0 (0 to 1), goal 0: missed |" in report.planned("notice", HEAD | {"trials": found})


def test_the_cost_of_a_step_is_judged_pair_by_pair() -> None:
    job: dict[str, Any] = {"size": 2, "steps": 40, "seconds": [[1.005, 1.0], [2.01, 2.0]]}
    text = step_cost.block(HEAD | {"jobs": [job]})
    assert "| +0.50 % (+0.50 to +0.50) | <= 1 % | met |" in text
    job["seconds"] = [[1.02, 1.0]] * 4
    assert "| missed |" in step_cost.block(HEAD | {"jobs": [job]})


def test_a_figure_has_trials_that_went_on_and_that_did_not_case_by_case() -> None:
    found = trials("one", session=0.5, stock=None) + trials("two", session=0.7, stock=46.0)
    shown = report.figure("loss", HEAD | {"trials": found})
    ours, stock = (ALL[name].about for name in ("session", "stock"))
    assert shown.rows == [f"one: {ours}", f"one: {stock}", f"two: {ours}", f"two: {stock}"]
    values = {row: of_row for series in shown.series for row, of_row in series.rows.items()}
    assert values[f"one: {stock}"] == [math.inf] * 5
    assert values[f"two: {stock}"] == [46.0] * 5


def test_the_session_takes_twenty_notices() -> None:
    assert 5 * CYCLES[ALL["session"]] == 20
