"""When a job has ended."""

from typing import Any

import pytest

from spotrain.controller.completion import deadline, judge, quote
from spotrain.controller.failure import find_failures
from spotrain.controller.model import Observed
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    NOW,
    after,
    applied,
    created,
    deleted,
    job,
    pod,
    reasons,
    seen,
    started,
    truths,
    world,
)


def verdict_of(observed: Observed, **spec: Any) -> tuple[str, str] | None:
    this = job(**spec)
    verdict = judge(this, observed, failures=find_failures(this, observed, NOW), now=NOW)
    return (verdict.kind, verdict.reason) if verdict else None


@pytest.mark.acceptance(12)
@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(seen(), None, id="nothing-yet"),
        pytest.param(seen(pod(0), pod(1)), None, id="training"),
        pytest.param(
            seen(pod(0, "Succeeded"), pod(1)),
            ("Succeeded", "WorkerSucceeded"),
            id="the-first-success-decides",
        ),
        pytest.param(
            seen(pod(0, "Succeeded"), pod(1, "Failed"), world=world(outcome="failed")),
            ("Succeeded", "WorkerSucceeded"),
            id="later-failures-change-nothing",
        ),
        pytest.param(
            seen(pod(0, "Succeeded", deleting=True), pod(1)),
            None,
            id="a-polite-leaver-is-no-winner",
        ),
        pytest.param(
            seen(pod(0), world=world(outcome="succeeded")),
            ("Succeeded", "TrainingSucceeded"),
            id="the-coordinator-saw-the-end",
        ),
        pytest.param(
            seen(pod(0), world=world(outcome="failed", message="ValueError")),
            ("Failed", "TrainingFailed"),
            id="the-coordinator-gave-up",
        ),
        pytest.param(seen(pod(0), world=world()), None, id="a-world-that-trains"),
    ],
)
def test_the_verdict(observed: Observed, expected: tuple[str, str] | None) -> None:
    assert verdict_of(observed) == expected


def test_a_failed_world_ends_the_job_with_the_words_of_the_rank_that_failed() -> None:
    this = job()
    before = started(this, world=world(outcome="failed", message="  CUDA error: 999\n"))
    ended = seen(*before.pods, world=before.world)
    plan = reconcile(this, ended, NOW)
    failed = plan.status.condition("Failed")
    assert failed is not None
    assert failed.message == "CUDA error: 999"


@pytest.mark.acceptance(12)
def test_success_is_told_once_and_nobody_is_replaced_afterwards() -> None:
    this = job()
    first = reconcile(this, seen(pod(0, "Succeeded"), pod(1)), NOW)
    assert truths(first.status) == {"Created": "JobCreated", "Succeeded": "WorkerSucceeded"}
    assert reasons(first) == ["ElasticJobSucceeded"]
    assert first.status.completion_time == NOW
    assert first.status.state == "Succeeded"
    later = applied(seen(pod(0, "Succeeded"), pod(1, "Failed")), first)
    second = reconcile(this, later, after(5))
    assert (created(second), reasons(second)) == ([], [])
    assert truths(second.status) == truths(first.status)
    assert second.status.completion_time == NOW


@pytest.mark.acceptance(35)
def test_the_deadline_is_met_without_any_other_event() -> None:
    this = job(activeDeadlineSeconds=3600 + 60)
    running = started(this)
    plan = reconcile(this, running, NOW)
    assert plan.requeue_at == after(60)
    assert plan.actions == ()
    late = reconcile(this, running, after(60))
    assert truths(late.status)["Failed"] == "DeadlineExceeded"
    assert len(deleted(late)) == 3


@pytest.mark.acceptance(29)
def test_suspended_time_does_not_count_towards_the_deadline() -> None:
    assert deadline(job(activeDeadlineSeconds=60, suspend=True), NOW) is None
    assert deadline(job(activeDeadlineSeconds=60), None) is None


def test_a_traceback_is_quoted_from_its_end() -> None:
    said = quote("Traceback\n" + "x" * 400 + "\nValueError: nan")
    assert said.startswith("...")
    assert said.endswith("ValueError: nan")
    assert len(said) < 310


def test_a_worker_that_is_done_is_not_missed_where_all_must_succeed() -> None:
    this = job(
        minReplicas=3,
        successPolicy="AllWorkers",
        elastic={"minReplicasTimeoutSeconds": 60},
    )
    first = reconcile(this, seen(pod(0, "Succeeded"), pod(1), pod(2)), NOW)
    assert first.status.is_true("Running")
    assert first.status.state == "Running"
    later = seen(pod(0, "Succeeded"), pod(1), pod(2), status=first.status)
    assert not reconcile(this, later, after(3600)).status.finished
    short = seen(pod(0, "Succeeded"), pod(1), pod(2, ready=False), status=first.status)
    assert not reconcile(this, short, NOW).status.is_true("Running")


@pytest.mark.acceptance(12)
@pytest.mark.parametrize(
    ("observed", "ends"),
    [
        pytest.param(seen(pod(0, "Succeeded"), pod(1), pod(2)), False, id="one"),
        pytest.param(seen(*(pod(i, "Succeeded") for i in range(3))), True, id="all"),
        pytest.param(
            seen(*(pod(i, "Succeeded") for i in range(2)), pod(2, "Failed")), False, id="but-one"
        ),
    ],
)
def test_all_workers_may_have_to_succeed(observed: Observed, ends: bool) -> None:
    this = job(minReplicas=3, successPolicy="AllWorkers")
    plan = reconcile(this, observed, NOW)
    assert plan.status.is_true("Succeeded") is ends
    assert created(plan) == []
