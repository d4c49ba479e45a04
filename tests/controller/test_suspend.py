"""A suspended job holds no node; resuming is a new start."""

from dataclasses import replace

import pytest

from spotrain.controller.model import CoordinatorAddress, CreatePod
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    NOW,
    after,
    applied,
    cleared,
    created,
    deleted,
    job,
    pod,
    pool,
    reasons,
    seen,
    started,
    truths,
)


@pytest.mark.acceptance(29)
def test_a_job_that_is_created_suspended_gets_no_pods() -> None:
    plan = reconcile(job(suspend=True), seen(), NOW)
    assert plan.actions == ()
    assert truths(plan.status) == {"Created": "JobCreated", "Suspended": "Suspended"}
    assert plan.status.start_time is None
    assert plan.status.state == "Suspended"


@pytest.mark.acceptance(29)
def test_suspending_a_running_job_lets_every_worker_leave_in_its_own_time() -> None:
    this = job()
    plan = reconcile(job(suspend=True), started(this), NOW)
    assert len(deleted(plan)) == 3
    assert all(getattr(action, "grace_seconds", 1) is None for action in plan.actions)
    running = plan.status.condition("Running")
    assert running is not None
    assert running.message.endswith("To go on from there: spotrain resume digits.")
    assert (running.status, running.reason) == ("False", "Suspended")
    assert reasons(plan) == ["Suspended"]


def test_of_this_machine_it_is_resumed_here() -> None:
    here = replace(started(job()), coordinator=CoordinatorAddress("ws://127.0.0.1:1", local=True))
    running = reconcile(job(suspend=True), here, NOW).status.condition("Running")
    assert running is not None
    assert running.message.endswith("To go on from there: spotrain resume digits --local.")


def test_a_suspended_job_is_quiet() -> None:
    this = job(suspend=True)
    first = reconcile(this, started(job()), NOW)
    second = reconcile(this, applied(started(job()), first), after(60))
    assert (second.actions, second.events) == ((), ())


@pytest.mark.acceptance(29)
def test_resuming_starts_a_new_attempt_with_its_own_clock_and_rendezvous() -> None:
    spec = {"rdzvEndpoint": "etcd-service:2379"}
    suspended = reconcile(job(suspend=True, **spec), started(job(**spec)), NOW)
    empty = cleared(applied(started(job(**spec)), suspended))
    plan = reconcile(job(**spec), empty, after(600))
    assert plan.status.start_time == after(600)
    assert plan.status.attempt == 1
    assert "Suspended" not in truths(plan.status)
    assert "Resumed" in reasons(plan)
    assert created(plan) == [0, 1, 2]
    manifest = next(a.manifest for a in plan.actions if isinstance(a, CreatePod))
    env = {v["name"]: v.get("value") for v in manifest["spec"]["containers"][0]["env"]}
    assert env["PET_RDZV_ID"] == "job-uid-1"
    assert manifest["metadata"]["annotations"]["spotrain.dev/attempt"] == "1"


def test_resuming_looks_for_the_best_place_of_the_day() -> None:
    wish = {"placement": {"gpu": "t4"}}
    old, new = pool("old"), pool("new", spot_usd_per_hour=0.1)
    first = reconcile(job(**wish), seen(pools=(old,)), NOW)
    running = applied(seen(pools=(old,)), first)
    suspended = reconcile(job(suspend=True, **wish), running, after(1))
    assert suspended.status.offer is None
    empty = cleared(applied(running, suspended))
    resumed = reconcile(job(**wish), seen(pools=(old, new), status=empty.status), after(2))
    assert resumed.status.offer is not None
    assert resumed.status.offer.pool == "new"


def test_a_suspended_job_that_finished_meanwhile_has_succeeded() -> None:
    plan = reconcile(job(suspend=True), seen(pod(0, "Succeeded")), NOW)
    assert plan.status.is_true("Succeeded")
