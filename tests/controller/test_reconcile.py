"""What holds for every job and every cluster, and whole lives of jobs."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spotrain.controller.model import CreatePod, DeleteJob, DeletePod, Observed, Plan, PodView
from spotrain.controller.placement import find_place
from spotrain.controller.reconcile import reconcile
from spotrain.job import ElasticJob
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
    node,
    pod,
    pool,
    seen,
    started,
    world,
)


@st.composite
def jobs(draw: st.DrawFn) -> ElasticJob:
    least = draw(st.integers(1, 4))
    most = draw(st.integers(least, 6))
    spec: dict[str, Any] = {
        "minReplicas": least,
        "maxReplicas": most,
        "suspend": draw(st.sampled_from([False, False, False, True])),
        "cleanPodPolicy": draw(st.sampled_from(["All", "Running", "None"])),
        "backoffLimit": draw(st.integers(0, 3)),
        "worker": {
            "replicas": draw(st.integers(least, most)),
            "restartPolicy": draw(st.sampled_from(["ExitCode", "Never", "OnFailure", "Always"])),
        },
    }
    if draw(st.booleans()):
        spec["placement"] = {"gpu": draw(st.sampled_from(["t4", "v100"]))}
    if draw(st.booleans()):
        spec["ttlSecondsAfterFinished"] = draw(st.sampled_from([0, 60]))
    if draw(st.booleans()):
        spec["activeDeadlineSeconds"] = draw(st.sampled_from([60, 86400]))
    return job(**spec)


pods = st.builds(
    lambda index, phase, node_name, ready, deleting, code, reason, disrupted, age, cost: pod(
        index,
        phase,
        node=node_name,
        ready=ready and phase == "Running",
        deleting=deleting,
        exit_code={"Succeeded": 0, "Failed": code}.get(phase),
        reason=reason if phase == "Failed" else "",
        disrupted=disrupted,
        created_at=after(-age),
        deletion_cost=cost,
        unschedulable="" if node_name else "no node",
    ),
    st.integers(0, 7),
    st.sampled_from(["Pending", "Running", "Running", "Running", "Failed", "Failed", "Succeeded"]),
    st.sampled_from(["node-1", "cordoned", "lost", None]),
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([None, 1, 2, 137, 143]),
    st.sampled_from(["", "Error", "Evicted", "OOMKilled"]),
    st.booleans(),
    st.sampled_from([0, 4, 30, 3600]),
    st.integers(-1, 1),
)
clusters = st.builds(
    lambda these, worlds, pools: seen(
        *these,
        nodes=(node("node-1"), node("cordoned", cordoned=True)),
        world=worlds,
        pools=pools,
    ),
    st.lists(pods, max_size=7, unique_by=lambda p: p.index),
    st.none()
    | st.builds(
        lambda number, size, outcome: world(number, size, outcome=outcome),
        st.integers(1, 9),
        st.integers(0, 6),
        st.sampled_from([None, None, None, "succeeded", "failed"]),
    ),
    st.sampled_from([(), (pool(),)]),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[ElasticJob, Observed]:
    """A job and a cluster, whose status another cluster and another wish may have left behind."""
    this, observed = draw(jobs()), draw(clusters)
    if draw(st.booleans()):
        before = reconcile(draw(jobs()), draw(clusters), after(-draw(st.integers(0, 90))))
        observed = replace(observed, status=before.status)
    return this, observed


@given(histories())
def test_the_same_input_gives_the_same_plan(history: tuple[ElasticJob, Observed]) -> None:
    this, observed = history
    assert reconcile(this, observed, NOW) == reconcile(this, observed, NOW)


@given(histories())
def test_applying_a_plan_leaves_nothing_to_do(history: tuple[ElasticJob, Observed]) -> None:
    this, observed = history
    plan = reconcile(this, observed, NOW)
    assume(DeleteJob() not in plan.actions)
    again = reconcile(this, applied(observed, plan), NOW)
    assert (again.actions, again.events) == ((), ())


@given(histories())
def test_a_crash_between_the_status_and_the_actions_changes_nothing(
    history: tuple[ElasticJob, Observed],
) -> None:
    this, observed = history
    plan = reconcile(this, observed, NOW)
    again = reconcile(this, replace(observed, status=plan.status), NOW)
    assert again.actions == plan.actions
    assert again.status == plan.status
    assert again.events == ()


@given(histories())
def test_there_are_never_more_workers_than_wanted_nor_two_of_one_index(
    history: tuple[ElasticJob, Observed],
) -> None:
    this, observed = history
    plan = reconcile(this, observed, NOW)
    there = applied(observed, plan).pods
    assert len(there) <= max(this.replicas, len(observed.pods))
    assert len({p.index for p in there}) == len(there)
    assert all(index < this.replicas for index in created(plan))


@given(histories())
def test_pods_are_removed_once_and_none_is_made_for_a_job_that_waits_or_has_ended(
    history: tuple[ElasticJob, Observed],
) -> None:
    this, observed = history
    plan = reconcile(this, observed, NOW)
    removed = [action.uid for action in plan.actions if isinstance(action, DeletePod)]
    assert len(set(removed)) == len(removed)
    assert not {p.uid for p in observed.pods if p.deleting} & set(removed)
    if plan.status.finished or this.suspend:
        assert created(plan) == []


@given(histories())
def test_a_job_that_has_ended_never_changes_its_mind(history: tuple[ElasticJob, Observed]) -> None:
    this, observed = history
    ended = reconcile(this, observed, NOW).status
    assume(ended.finished)
    later = reconcile(this, seen(pod(0, "Succeeded"), pod(1, "Failed"), status=ended), after(9))
    assert later.status.conditions == ended.conditions
    assert later.status.completion_time == ended.completion_time


def up(view: PodView) -> PodView:
    """A pod whose node and container came up, if it had still to come up."""
    if view.phase not in ("Pending", "Running"):
        return view
    return replace(view, phase="Running", ready=True, node=view.node or "node-1")


def settle(this: ElasticJob, observed: Observed, now: datetime) -> Observed:
    """Rounds of reconciling in a cluster that obeys: pods start, and those told to leave do."""
    for _ in range(6):
        observed = replace(observed, pods=tuple(map(up, observed.pods)))
        plan = reconcile(this, observed, now)
        rested = replace(observed, status=plan.status)
        if DeleteJob() in plan.actions:
            return replace(rested, pods=())
        if not plan.actions and not plan.requeue_at and cleared(observed) == observed:
            return rested
        observed = cleared(applied(observed, plan, now))
        now = max(plan.requeue_at or now, now + timedelta(seconds=10))
    raise AssertionError("the job never came to rest")


@given(histories())
def test_every_job_comes_to_rest_with_the_workers_it_wants(
    history: tuple[ElasticJob, Observed],
) -> None:
    this, observed = history
    final = settle(this, observed, NOW)
    if final.status.finished:
        assert not any(p.phase == "Running" for p in final.pods)
    elif this.suspend:
        assert final.pods == ()
    elif find_place(this, final, NOW).obstacle:
        assert len(final.pods) <= this.replicas
    else:
        assert len(final.pods) == this.replicas
        assert final.status.state == "Running"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["kill", "fail", "delete", "drain", "start", "leave", "scale", "crash"]
            ),
            st.integers(0, 5),
        ),
        max_size=25,
    )
)
def test_no_churn_makes_a_pod_too_many_or_counts_a_loss_twice(
    churn: list[tuple[str, int]],
) -> None:
    """Any sequence of losses, scalings and controller crashes half-way through a plan."""
    this, observed, lost, seconds = job(maxReplicas=6, backoffLimit=99), seen(), set[str](), 0
    for what, index in churn:
        seconds += 7
        now = after(seconds)
        this, observed = happen(this, observed, what, index=index)
        lost |= {
            p.uid
            for p in observed.pods
            if (p.phase == "Failed" or p.disrupted) and p.uid not in observed.status.counted_pods
        }
        plan = reconcile(this, observed, now)
        done = index if what == "crash" else len(plan.actions)
        observed = applied(observed, replace(plan, actions=plan.actions[:done]), now)
        assert len(observed.pods) <= 6
        assert len({p.index for p in observed.pods}) == len(observed.pods)
        restarts = observed.status.restarts
        assert restarts.failures + restarts.disruptions <= len(lost)


def happen(
    this: ElasticJob, observed: Observed, what: str, *, index: int
) -> tuple[ElasticJob, Observed]:
    """One thing that happens in a cluster."""
    if what == "scale":
        return replace(this, replicas=1 + index), observed
    if what == "leave":
        return this, cleared(observed)
    if what == "delete":
        return this, replace(observed, pods=tuple(p for p in observed.pods if p.index != index))
    changes: dict[str, dict[str, Any]] = {
        "kill": {"phase": "Failed", "exit_code": 137, "ready": False},
        "fail": {"phase": "Failed", "exit_code": 1, "ready": False},
        "drain": {"disrupted": True, "deleting": True},
        "start": {"phase": "Running", "ready": True, "node": "node-1"},
        "crash": {},
    }
    return this, changed(observed, index, **changes[what])


def test_another_controllers_job_is_left_alone() -> None:
    foreign = job(managedBy="kueue.x-k8s.io/multikueue")
    observed = started(job())
    assert reconcile(foreign, observed, NOW) == Plan(observed.status)


@pytest.mark.parametrize("ours", ["", "spotrain.dev/spotrain-controller"])
def test_our_own_name_means_us(ours: str) -> None:
    assert created(reconcile(job(managedBy=ours), seen(), NOW)) == [0, 1, 2]


def test_a_new_job_is_on_record_from_its_first_look() -> None:
    status = reconcile(job(), seen(), NOW).status
    assert status.start_time == NOW
    assert status.observed_generation == 1
    assert status.selector == ("group-name=elastic.pytorch.org,job-name=digits,replica-type=worker")
    assert status.is_true("Created")


def test_a_drained_worker_comes_back_under_its_own_index() -> None:
    this = job()
    drained = changed(started(this), 1, disrupted=True, deleting=True)
    first = reconcile(this, drained, NOW)
    assert first.actions == ()
    assert first.status.restarts.disruptions == 1
    second = reconcile(this, cleared(applied(drained, first)), after(20))
    assert created(second) == [1]
    assert second.status.restarts.failures == 0


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
