"""What a job's document says to its researcher."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spotrain.cli.job_rows import row_of_document
from spotrain.cli.job_table import tabulate
from spotrain.cli.job_text import facts
from spotrain.cli.job_view import view
from spotrain.ledger.entries import WorldEntry, to_document
from tests.cli.documents import job

START = datetime(2026, 1, 1, tzinfo=UTC)


def world(**changes: Any) -> WorldEntry:
    said: dict[str, Any] = {
        "number": 1,
        "size": 2,
        "published_at": START,
        "first_step_at": START + timedelta(seconds=10),
        "last_step_at": START + timedelta(seconds=30),
        "restored_step": 100,
        "last_step": 201,
        "samples_per_step": 64,
    }
    return WorldEntry(**{**said, **changes})


def test_throughput_is_that_of_the_present_world_since_its_first_step() -> None:
    seen = view(job(status={"history": [to_document(world())]}))
    assert seen.steps_per_second == 5.0
    assert seen.samples_per_second == 320.0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"last_step": 101, "last_step_at": START + timedelta(seconds=10)}, id="one"),
        pytest.param({"first_step_at": None, "last_step_at": None, "last_step": None}, id="none"),
        pytest.param({"ended_at": START + timedelta(seconds=31)}, id="over"),
    ],
)
def test_throughput_is_not_known_before_a_world_does_two_steps_nor_after_its_end(
    changes: dict[str, Any],
) -> None:
    seen = view(job(status={"history": [to_document(world(**changes))]}))
    assert seen.steps_per_second is None
    assert seen.summary()["samplesPerSecond"] is None


def test_the_time_that_is_left_is_that_of_the_steps_at_the_present_speed() -> None:
    progress = {"step": 201, "at": START.isoformat(), "stepsLeft": 36_000}
    present = {"number": 1, "size": 2, "since": START.isoformat(), "step": 100}
    trains = {
        "state": "Running",
        "world": {**present, "stepsPerSecond": 5.0},
        "progress": progress,
        "history": [to_document(world())],
    }
    seen = view(job(status=trains))
    assert (seen.summary()["stepsLeft"], seen.summary()["secondsLeft"]) == (36_000, 7200.0)
    assert dict(facts(seen, START))["left"] == "2 h, if it goes on as now: 36,000 steps"
    line = row_of_document(seen.document)
    assert line.seconds_left == 7200.0
    assert "2 h" in tabulate([line], START, width=None)[2]


@pytest.mark.parametrize(
    ("progress", "ended"),
    [
        pytest.param({"step": 201}, False, id="the-script-does-not-tell"),
        pytest.param({"step": 201, "stepsLeft": 9}, True, id="between-two-worlds"),
    ],
)
def test_where_nobody_can_say_it_no_time_is_left_to_tell_of(
    progress: dict[str, Any], ended: bool
) -> None:
    past = world(ended_at=START if ended else None)
    told = {"progress": {**progress, "at": START.isoformat()}, "history": [to_document(past)]}
    seen = view(job(status=told))
    assert seen.summary()["secondsLeft"] is None
    assert "left" not in dict(facts(seen, START))


def test_totals_of_the_ledger_are_told_and_nothing_is_made_up_without_them() -> None:
    now = START.isoformat()
    totals = {"until": now, "wantedSeconds": 200.0, "usefulSeconds": 150.0, "estimatedUsd": 1.5}
    seen = view(job(status={"ledger": {"since": now, "totals": totals}}))
    assert (seen.useful_share, seen.usd) == (0.75, 1.5)
    fresh = view(job())
    assert (fresh.useful_share, fresh.usd) == (None, None)


def test_of_a_script_that_tells_of_no_steps_the_useful_share_is_unknown_and_not_0() -> None:
    now = START.isoformat()
    ledger = {"since": now, "totals": {"until": now, "wantedSeconds": 200.0}}
    silent = world(first_step_at=None, last_step_at=None, last_step=None, restored_step=None)
    seen = view(job(status={"ledger": ledger, "history": [to_document(silent)]}))
    assert seen.summary()["usefulShare"] is None
    assert dict(facts(seen, START))["useful"] == "unknown: its script has told of no step"
    waits = view(job(status={"ledger": ledger}))
    assert waits.useful_share == 0.0
    assert dict(facts(waits, START))["useful"].startswith("0.0% of the time")


def test_a_job_that_is_told_to_stop_is_stopping_until_it_has() -> None:
    assert view(job(suspend=True, status={"state": "Running"})).state == "Stopping"
    suspended = {"type": "Suspended", "status": "True"}
    stopped = view(job(suspend=True, status={"state": "Suspended", "conditions": [suspended]}))
    assert stopped.state == "Suspended"


def test_the_reason_is_that_of_the_condition_that_makes_the_state() -> None:
    conditions = [
        {"type": "Running", "status": "False", "reason": "BelowMin", "message": "waits"},
        {"type": "Failed", "status": "True", "reason": "Deadline", "message": "too long"},
    ]
    waiting = view(job(status={"state": "Pending", "conditions": conditions[:1]})).summary()
    assert (waiting["reason"], waiting["message"]) == ("BelowMin", "waits")
    failed = view(job(status={"state": "Failed", "conditions": conditions})).summary()
    assert (failed["reason"], failed["message"]) == ("Deadline", "too long")


def test_a_status_that_nobody_can_read_hides_nothing_else() -> None:
    seen = view(job(status={"state": "Running", "history": "spoilt", "ledger": {}}))
    assert (seen.state, seen.worlds, seen.usd) == ("Running", (), None)


def test_a_job_whose_spec_cannot_be_read_is_seen_all_the_same() -> None:
    seen = view(job(minReplicas=5, maxReplicas=2))
    assert seen.job is None
    assert seen.summary()["workers"]["wanted"] is None
