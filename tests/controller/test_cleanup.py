"""What remains of a job that has ended."""

from typing import Any

import pytest

from spotrain.controller.cleanup import clean_up
from spotrain.controller.model import DeleteJob
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import NOW, after, applied, deleted, job, pod, seen, truths

LEFT = (pod(0, "Succeeded"), pod(1), pod(2, "Pending", node=None), pod(3, "Failed"))


@pytest.mark.acceptance(34)
@pytest.mark.parametrize(
    ("policy", "reason", "seconds", "gone"),
    [
        pytest.param("None", "WorkerSucceeded", 0, [2], id="none-lets-peers-leave"),
        pytest.param("None", "WorkerSucceeded", 300, [1, 2], id="none-keeps-finished-pods"),
        pytest.param("Running", "WorkerSucceeded", 0, [2], id="running-lets-peers-leave"),
        pytest.param("Running", "WorkerSucceeded", 300, [1, 2], id="running-removes-the-running"),
        pytest.param("All", "WorkerSucceeded", 0, [0, 2, 3], id="all-removes-the-finished-at-once"),
        pytest.param("All", "WorkerSucceeded", 300, [0, 1, 2, 3], id="all-removes-all"),
        pytest.param("None", "TrainingFailed", 299, [2], id="failed-peers-leave-too"),
        pytest.param("None", "DeadlineExceeded", 0, [1, 2], id="a-deadline-waits-for-nobody"),
        pytest.param("None", "BackoffLimitExceeded", 0, [1, 2], id="nor-does-the-backoff-limit"),
        pytest.param("All", "BackoffLimitExceeded", 0, [0, 1, 2, 3], id="all-at-the-limit"),
    ],
)
def test_what_goes_depends_on_policy_end_and_time(
    policy: str, reason: str, seconds: int, gone: list[int]
) -> None:
    this = job(cleanPodPolicy=policy)
    cleanup = clean_up(this, LEFT, reason=reason, ended_at=NOW, now=after(seconds))
    removed = sorted(action.name for action in cleanup.actions if not isinstance(action, DeleteJob))
    assert removed == [f"digits-worker-{index}" for index in gone]


def test_peers_that_do_not_leave_are_looked_at_again() -> None:
    cleanup = clean_up(job(), LEFT, reason="WorkerSucceeded", ended_at=NOW, now=NOW)
    assert cleanup.look_again == after(300)


def test_pods_on_their_way_out_are_left_alone() -> None:
    leaving = (pod(0, deleting=True),)
    cleanup = clean_up(job(), leaving, reason="DeadlineExceeded", ended_at=NOW, now=NOW)
    assert cleanup.actions == ()


@pytest.mark.acceptance(35)
@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        pytest.param(pod(0, "Succeeded"), "Succeeded", id="succeeded"),
        pytest.param(pod(0, "Failed"), "Failed", id="failed"),
    ],
)
def test_the_job_goes_when_its_time_to_live_is_over(end: Any, verdict: str) -> None:
    this = job(ttlSecondsAfterFinished=60, backoffLimit=0, maxReplicas=1, worker={"replicas": 1})
    first = reconcile(this, seen(end), NOW)
    assert verdict in truths(first.status)
    assert first.requeue_at == after(60)
    rest = applied(seen(end), first)
    assert DeleteJob() not in reconcile(this, rest, after(59)).actions
    assert reconcile(this, rest, after(60)).actions == (DeleteJob(),)


@pytest.mark.acceptance(35)
def test_a_time_to_live_of_zero_works() -> None:
    plan = reconcile(job(ttlSecondsAfterFinished=0), seen(pod(0, "Succeeded")), NOW)
    assert plan.actions == (DeleteJob(),)
    assert plan.status.is_true("Succeeded")


@pytest.mark.acceptance(35)
def test_a_time_to_live_may_be_set_after_the_end() -> None:
    ended = reconcile(job(), seen(pod(0, "Succeeded")), NOW)
    rest = applied(seen(pod(0, "Succeeded")), ended)
    assert reconcile(job(), rest, after(99)).actions == ()
    assert reconcile(job(ttlSecondsAfterFinished=9), rest, after(99)).actions == (DeleteJob(),)


@pytest.mark.acceptance(34)
def test_the_verdict_stands_in_the_status_of_the_very_plan_that_removes_pods() -> None:
    """Whoever carries a plan out writes its status first."""
    plan = reconcile(job(cleanPodPolicy="All"), seen(pod(0, "Succeeded")), NOW)
    assert deleted(plan) == ["digits-worker-0"]
    assert plan.status.is_true("Succeeded")
