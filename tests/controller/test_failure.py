"""Failures of the training: counted once a generation, tried again with pauses, then the end."""

from dataclasses import replace

import pytest

from spotrain.controller.board import Board
from spotrain.controller.failure import find_failures, pause
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import FailureMark, JobStatus, Restarts
from spotrain.ledger.entries import BackOffEntry
from tests.controller.builders import (
    NOW,
    after,
    applied,
    cleared,
    created,
    deleted,
    job,
    pod,
    reasons,
    seen,
    truths,
)


def test_a_failed_worker_stays_with_its_logs_until_the_pause_is_over() -> None:
    this, crashed = job(), seen(pod(0), pod(1, "Failed"), pod(2))
    first = reconcile(this, crashed, NOW)
    assert first.actions == ()
    assert first.requeue_at == after(10)
    assert truths(first.status)["Restarting"] == "BackingOff"
    assert reasons(first) == ["ElasticJobRestarting"]
    again = reconcile(this, applied(crashed, first), after(10))
    assert deleted(again) == ["digits-worker-1"]
    assert again.status.restarts.failures == 1
    gone = cleared(applied(crashed, again))
    assert created(reconcile(this, gone, after(11))) == [1]


def test_the_ledger_tells_back_off_from_waiting_for_nodes() -> None:
    """The only worker fails at 0, is tried again at 10, and has no node until 30."""
    this = job(minReplicas=1, maxReplicas=1)
    crashed = seen(pod(0, "Failed", ended_at=NOW), board=Board(since=NOW))
    first = reconcile(this, crashed, NOW)
    second = reconcile(this, applied(crashed, first), after(10))
    waiting = seen(
        pod(0, "Pending", uid="second", node=None, created_at=after(11)),
        status=second.status,
        board=Board(since=NOW),
    )
    ledger = reconcile(this, waiting, after(30)).status.ledger
    assert ledger
    assert ledger.totals
    lost = ledger.totals.lost_seconds
    assert (lost.back_off, lost.waiting_for_nodes) == (10, 20)
    assert ledger.back_offs == (BackOffEntry(since=NOW, until=after(10)),)


def test_a_ledger_that_an_earlier_version_has_kept_knows_of_no_back_off() -> None:
    ledger = {"since": "2026-01-01T12:00:00Z", "totals": {"until": "2026-01-01T12:00:00Z"}}
    kept = JobStatus.from_document({"ledger": ledger}).ledger
    assert kept
    assert kept.totals
    assert (kept.back_offs, kept.totals.lost_seconds.back_off) == ((), 0)


@pytest.mark.acceptance(13)
def test_workers_that_fall_together_are_one_failure() -> None:
    this, one = job(), seen(pod(0, "Failed"), pod(1), pod(2))
    first = reconcile(this, one, NOW)
    rest = seen(pod(0, "Failed"), pod(1, "Failed"), pod(2, "Failed"), status=first.status)
    second = reconcile(this, rest, after(8))
    assert second.status.restarts.failures == 1
    assert reasons(second) == []
    third = reconcile(this, applied(rest, second), after(10))
    assert len(deleted(third)) == 3


def test_a_replacement_that_fails_is_another_failure() -> None:
    this = job()
    status = JobStatus(last_failure=FailureMark(NOW, 1), restarts=Restarts(failures=1))
    fresh = seen(pod(0, "Failed", created_at=after(11)), pod(1), pod(2), status=status)
    found = find_failures(this, fresh, after(20))
    assert (found.total, found.mark) == (2, FailureMark(after(20), 2))
    assert found.retry_at == after(40)


def test_a_survivor_that_fails_much_later_is_another_failure() -> None:
    status = JobStatus(last_failure=FailureMark(NOW, 1), restarts=Restarts(failures=1))
    later = seen(pod(0, "Failed"), pod(1), pod(2), status=status)
    assert find_failures(job(), later, after(61)).total == 2


@pytest.mark.acceptance(13)
@pytest.mark.parametrize(
    ("streak", "seconds"),
    [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 360), (500, 360)],
)
def test_pauses_double_up_to_six_minutes(streak: int, seconds: int) -> None:
    assert pause(FailureMark(NOW, streak)).total_seconds() == seconds


@pytest.mark.acceptance(13)
def test_a_healthy_time_begins_the_pauses_anew_but_forgets_no_failure() -> None:
    status = JobStatus(last_failure=FailureMark(NOW, 4), restarts=Restarts(failures=4))
    later = seen(pod(0, "Failed"), status=status)
    found = find_failures(job(), later, after(80 + 601))
    assert found.mark == FailureMark(after(681), 1)
    assert found.total == 5


@pytest.mark.acceptance(13)
def test_one_failure_more_than_forgiven_ends_the_job() -> None:
    this = job(backoffLimit=1, minReplicas=3)
    status = JobStatus(last_failure=FailureMark(NOW, 1), restarts=Restarts(failures=1))
    crashed = pod(0, "Failed", created_at=after(11), message="ValueError: nan")
    plan = reconcile(this, seen(crashed, pod(1), pod(2), status=status), after(20))
    failed = plan.status.condition("Failed")
    assert failed is not None
    assert (failed.status, failed.reason) == ("True", "BackoffLimitExceeded")
    assert failed.message == (
        "failed 2 times, backoffLimit is 1; "
        "last: digits-worker-0 failed with exit code 1 (ValueError: nan)."
    )
    assert plan.status.completion_time == after(20)
    assert reasons(plan) == ["ElasticJobFailed"]


@pytest.mark.acceptance(14)
@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
@pytest.mark.parametrize(
    ("fate", "outcome"),
    [
        pytest.param({"exit_code": 1}, "failure", id="exit-1"),
        pytest.param({"exit_code": 137}, "signal", id="exit-137"),
        pytest.param({"exit_code": 137, "reason": "OOMKilled"}, "failure", id="out-of-memory"),
        pytest.param({"exit_code": None, "reason": "Evicted"}, "disruption", id="evicted"),
        pytest.param({"exit_code": 1, "disrupted": True}, "disruption", id="drained"),
        pytest.param({"exit_code": 0, "phase": "Succeeded"}, "success", id="exit-0"),
        pytest.param(None, "deleted", id="deleted"),
    ],
)
def test_every_policy_meets_every_fate(
    policy: str, fate: dict[str, object] | None, outcome: str
) -> None:
    this = job(minReplicas=3, worker={"restartPolicy": policy})
    lost = [] if fate is None else [pod(1, **{"phase": "Failed", **fate})]
    plan = reconcile(this, seen(pod(0), *lost, pod(2)), NOW)
    if outcome == "success":
        assert "Succeeded" in truths(plan.status)
    elif outcome == "deleted":
        assert created(plan) == [1]
    elif outcome == "disruption" or (outcome == "signal" and policy != "Never"):
        assert deleted(plan) == ["digits-worker-1"]
        assert plan.status.restarts.failures == 0
    elif policy == "Never":
        assert truths(plan.status)["Failed"] == "BackoffLimitExceeded"
    else:
        assert plan.status.restarts.failures == 1
        assert truths(plan.status)["Restarting"] == "BackingOff"


@pytest.mark.acceptance(14)
def test_a_failure_that_no_try_mends_ends_the_job_and_never_leaves_it_running() -> None:
    this, observed, now = job(backoffLimit=1), seen(), 0
    for _ in range(20):
        now += 400
        plan = reconcile(this, observed, after(now))
        if plan.status.finished:
            break
        failing = cleared(applied(observed, plan, after(now))).pods
        observed = seen(
            *(replace(p, phase="Failed", exit_code=1) for p in failing), status=plan.status
        )
    assert truths(plan.status)["Failed"] == "BackoffLimitExceeded"


@pytest.mark.acceptance(16)
def test_an_unforgiven_worker_stays_away_while_the_others_are_enough() -> None:
    this = job(backoffLimit=0)
    observed = seen(pod(0), pod(1, "Failed"), pod(2))
    plan = reconcile(this, observed, NOW)
    assert truths(plan.status) == {"Created": "JobCreated", "Running": "EnoughWorkers"}
    assert reasons(plan) == ["WorkerGivenUp"]
    later = reconcile(this, applied(observed, plan), after(9999))
    assert (later.actions, later.events, later.status.finished) == ((), (), False)


@pytest.mark.acceptance(16)
@pytest.mark.parametrize(
    ("failed", "disrupted", "ends"),
    [
        pytest.param([1], [], False, id="two-are-enough"),
        pytest.param([1], [2], False, id="one-that-was-taken-away-comes-back"),
        pytest.param([1, 2], [], True, id="one-is-not-and-nobody-comes-back"),
    ],
)
def test_only_a_job_that_cannot_come_back_to_its_min_fails(
    failed: list[int], disrupted: list[int], ends: bool
) -> None:
    this = job(minReplicas=2, worker={"restartPolicy": "Never"})
    pods = [
        pod(index, "Failed")
        if index in failed
        else pod(index, "Failed", reason="Evicted")
        if index in disrupted
        else pod(index)
        for index in range(3)
    ]
    assert reconcile(this, seen(*pods), NOW).status.finished is ends
