"""The policies together."""

from dataclasses import replace

import pytest

from spotrain.controller.model import CreatePod, Plan
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    LONG_AGO,
    NOW,
    after,
    applied,
    changed,
    cleared,
    created,
    deleted,
    job,
    reasons,
    seen,
    started,
)


@pytest.mark.acceptance(30)
def test_another_controllers_job_is_left_alone() -> None:
    foreign = job(managedBy="kueue.x-k8s.io/multikueue")
    observed = started(job())
    assert reconcile(foreign, observed, NOW) == Plan(observed.status)


@pytest.mark.acceptance(30)
@pytest.mark.parametrize("ours", ["", "spotrain.dev/spotrain-controller"])
def test_our_own_name_means_us(ours: str) -> None:
    assert created(reconcile(job(managedBy=ours), seen(), NOW)) == [0, 1, 2]


@pytest.mark.acceptance(10)
def test_a_new_job_is_on_record_from_its_first_look() -> None:
    status = reconcile(job(), seen(), NOW).status
    assert status.start_time == NOW
    assert status.observed_generation == 1
    assert status.selector == ("group-name=elastic.pytorch.org,job-name=digits,replica-type=worker")
    assert status.is_true("Created")


@pytest.mark.acceptance(17)
def test_a_drained_worker_comes_back_under_its_own_index() -> None:
    this = job()
    drained = changed(started(this), 1, disrupted=True, deleting=True)
    first = reconcile(this, drained, NOW)
    assert first.actions == ()
    assert first.status.restarts.disruptions == 1
    second = reconcile(this, cleared(applied(drained, first)), after(20))
    assert created(second) == [1]
    assert second.status.restarts.failures == 0


@pytest.mark.acceptance(26)
def test_scaling_up_touches_no_running_worker() -> None:
    running = started(job(maxReplicas=6))
    plan = reconcile(job(maxReplicas=6, worker={"replicas": 5}), running, NOW)
    assert created(plan) == [3, 4]
    assert deleted(plan) == []


def test_the_next_look_is_at_the_earliest_thing_to_come() -> None:
    this = job(activeDeadlineSeconds=3600 + 5)
    failed = changed(started(this), 0, phase="Failed", ready=False, exit_code=1)
    plan = reconcile(this, failed, NOW)
    assert plan.requeue_at == after(5), "the deadline comes before the end of the pause"
    assert (NOW - LONG_AGO).total_seconds() == 3600


def test_every_created_pod_is_the_one_that_its_action_names() -> None:
    for action in reconcile(job(), seen(), NOW).actions:
        if isinstance(action, CreatePod):
            assert action.manifest["metadata"]["name"] == action.name
            assert action.manifest["metadata"]["labels"]["replica-index"] == str(action.index)


@pytest.mark.acceptance(25)
def test_a_number_of_workers_outside_the_limits_is_told_once_for_each_spec() -> None:
    this = job(maxReplicas=3, worker={"replicas": 9})
    first = reconcile(this, seen(), NOW)
    assert created(first) == [0, 1, 2]
    (clamped,) = first.events
    assert clamped.reason == "ScaleClamped"
    assert clamped.message == ("replicas is 9, outside minReplicas 1 to maxReplicas 3; taken as 3.")
    again = reconcile(this, applied(seen(), first), after(1))
    assert again.events == ()
    later = replace(this, asked_replicas=8, generation=2)
    assert reasons(reconcile(later, applied(seen(), first), after(2))) == ["ScaleClamped"]
