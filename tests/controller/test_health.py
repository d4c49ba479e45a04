"""Does the job run, and what is it waiting for?"""

import pytest

from spotrain.controller.model import Observed
from spotrain.controller.reconcile import reconcile
from spotrain.controller.refusal import refuse
from spotrain.controller.status import JobStatus
from spotrain.job import JobError, parse_job
from tests.controller.builders import (
    NOW,
    after,
    applied,
    changed,
    cleared,
    document,
    job,
    pod,
    reasons,
    seen,
    started,
    truths,
)

NO_NODE = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


@pytest.mark.acceptance(11)
@pytest.mark.parametrize(
    ("observed", "status", "reason"),
    [
        pytest.param(seen(), "False", "WorkersStarting", id="no-pods-yet"),
        pytest.param(
            seen(pod(0), pod(1, "Pending")), "False", "WorkersStarting", id="too-few-are-ready"
        ),
        pytest.param(seen(pod(0), pod(1)), "True", "EnoughWorkers", id="min-is-enough"),
        pytest.param(seen(pod(0), pod(1, ready=False)), "False", "WorkersStarting", id="not-ready"),
        pytest.param(
            seen(pod(0), pod(1, deleting=True)), "False", "WorkersStarting", id="leaving-is-not"
        ),
        pytest.param(
            seen(pod(0), pod(1, "Pending", node=None, unschedulable=NO_NODE)),
            "False",
            "Unschedulable",
            id="no-node",
        ),
    ],
)
def test_running_means_that_min_workers_are_ready(
    observed: Observed, status: str, reason: str
) -> None:
    running = reconcile(job(minReplicas=2), observed, NOW).status.condition("Running")
    assert running is not None
    assert (running.status, running.reason) == (status, reason)


@pytest.mark.acceptance(11)
def test_the_schedulers_words_reach_the_status() -> None:
    waiting = seen(pod(0, "Pending", node=None, unschedulable=NO_NODE))
    running = reconcile(job(), waiting, NOW).status.condition("Running")
    assert running is not None
    assert NO_NODE in running.message


@pytest.mark.acceptance(11)
def test_below_min_a_job_that_ran_is_restarting_until_it_runs_again() -> None:
    this = job(minReplicas=3)
    lost = changed(started(this), 1, phase="Failed", ready=False, exit_code=137)
    first = reconcile(this, lost, NOW)
    running = first.status.condition("Running")
    assert running is not None
    assert (running.status, running.reason) == ("False", "BelowMinReplicas")
    assert first.status.state == "Restarting"
    waiting = cleared(applied(lost, first))
    second = reconcile(this, waiting, after(1))
    assert second.status.state == "Restarting"
    back = changed(applied(waiting, second), 1, phase="Running", ready=True)
    third = reconcile(this, back, after(60))
    assert third.status.state == "Running"
    assert "Restarting" not in truths(third.status)


def test_above_min_a_lost_worker_leaves_the_job_running() -> None:
    this = job(minReplicas=1)
    lost = changed(started(this), 1, phase="Failed", ready=False, exit_code=137)
    assert reconcile(this, lost, NOW).status.state == "Running"


def test_a_job_that_does_not_parse_says_why_once_and_touches_nothing() -> None:
    with pytest.raises(JobError) as caught:
        parse_job(document(worker={"template": {"spec": {"containers": "none"}}}))
    first = refuse(caught.value, JobStatus(), generation=3, now=NOW)
    assert first.actions == ()
    assert reasons(first) == ["InvalidSpec"]
    running = first.status.condition("Running")
    assert running is not None
    assert running.reason == "InvalidSpec"
    assert "containers" in running.message
    assert refuse(caught.value, first.status, generation=3, now=after(9)).events == ()
