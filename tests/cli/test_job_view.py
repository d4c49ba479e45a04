"""What a job's document says to its researcher."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spotrain import contract
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
    assert seen.summary(START)["samplesPerSecond"] is None


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
    assert (seen.summary(START)["stepsLeft"], seen.summary(START)["secondsLeft"]) == (
        36_000,
        7200.0,
    )
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
    assert seen.summary(START)["secondsLeft"] is None
    assert "left" not in dict(facts(seen, START))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_the_cost_of_the_ledger_is_told_with_its_age_and_nothing_is_made_up_without_it() -> None:
    totals = {"until": START.isoformat(), "estimatedUsd": 1.5}
    seen = view(job(status={"ledger": {"since": START.isoformat(), "totals": totals}}))
    assert seen.usd == 1.5
    assert dict(facts(seen, at(59)))["cost"] == "$1.50 so far"
    assert dict(facts(seen, at(240)))["cost"] == "$1.50, as of 4 min ago"
    fresh = view(job())
    assert (fresh.ettr(START), fresh.usd) == (None, None)
    assert "ETTR" not in dict(facts(fresh, START))


def test_the_ettr_is_that_of_now_and_after_the_end_that_of_the_end() -> None:
    """It trains from 10 on; its ledger was written at 20."""
    totals = {"until": at(20).isoformat(), "wantedSeconds": 20.0, "usefulSeconds": 10.0}
    ledger = {"since": START.isoformat(), "totals": totals}
    status: dict[str, Any] = {"ledger": ledger, "history": [to_document(world())]}
    assert view(job(status=status)).ettr(at(40)) == 0.75
    assert dict(facts(view(job(status=status)), at(100)))["ETTR"] == (
        "90.0% of the time in which it wanted to train"
    )
    assert view(job(status=status)).summary(at(100))["ettr"] == 0.9
    ended = view(job(status={**status, "completionTime": at(40).isoformat()}))
    assert ended.ettr(at(4000)) == 0.75


def test_until_a_job_tells_of_a_step_its_ettr_is_unknown_and_not_0() -> None:
    ledger = {"since": START.isoformat(), "totals": {"until": at(200).isoformat()}}
    silent = world(first_step_at=None, last_step_at=None, last_step=None, restored_step=None)
    for history in ([], [to_document(silent)]):
        seen = view(job(status={"ledger": ledger, "history": history}))
        assert seen.summary(at(200))["ettr"] is None
        assert dict(facts(seen, at(200)))["ETTR"] == "unknown: it has told of no step"


def test_the_time_at_a_place_stops_with_the_job() -> None:
    offer = {"pool": "t4-spot", "zone": "a", "since": START.isoformat()}
    seen = view(job(status={"offer": offer}))
    assert dict(facts(seen, at(60)))["place"] == "t4-spot, a, for 60 s"
    ended = view(job(status={"offer": offer, "completionTime": at(60).isoformat()}))
    assert dict(facts(ended, at(10_000)))["place"] == "t4-spot, a, for 60 s"


def test_a_world_that_a_suspension_ended_says_so_and_has_no_pause_of_it() -> None:
    """Suspended from 40 to 100; the next world's first step comes at 108."""
    stopped = world(ended_at=at(40), reason="notice", pause_seconds=68.0)
    pauses = [{"since": at(40).isoformat(), "until": at(100).isoformat()}]
    ledger = {"since": START.isoformat(), "pauses": pauses}
    (seen,) = view(job(status={"ledger": ledger, "history": [to_document(stopped)]})).worlds
    assert (seen.reason, seen.pause_seconds) == ("suspended", 8.0)
    lost = to_document(world(ended_at=at(30), reason="loss", pause_seconds=78.0))
    (seen,) = view(job(status={"ledger": ledger, "history": [lost]})).worlds
    assert (seen.reason, seen.pause_seconds) == ("loss", 18.0)


def test_of_this_machine_the_gpus_are_on_paper() -> None:
    document = job(placement={"gpu": "t4"}, status={"state": "Suspended"})
    (container,) = document["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {contract.GPU_RESOURCE: 1}}
    assert dict(facts(view(document), START))["workers"].endswith("1 x T4 each")
    local = dict(facts(view(document, local=True), START))
    assert local["workers"].endswith("1 x T4 each, on paper")


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
    waiting = view(job(status={"state": "Pending", "conditions": conditions[:1]})).summary(START)
    assert (waiting["reason"], waiting["message"]) == ("BelowMin", "waits")
    failed = view(job(status={"state": "Failed", "conditions": conditions})).summary(START)
    assert (failed["reason"], failed["message"]) == ("Deadline", "too long")


def test_a_status_that_nobody_can_read_hides_nothing_else() -> None:
    seen = view(job(status={"state": "Running", "history": "spoilt", "ledger": {}}))
    assert (seen.state, seen.worlds, seen.usd) == ("Running", (), None)


def test_a_job_whose_spec_cannot_be_read_is_seen_all_the_same() -> None:
    seen = view(job(minReplicas=5, maxReplicas=2))
    assert seen.job is None
    assert seen.summary(START)["workers"]["wanted"] is None
