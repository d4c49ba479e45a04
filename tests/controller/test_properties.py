"""What holds for every job, every cluster and every history."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spotrain.controller.model import DeleteJob, DeletePod, Observed, PodView
from spotrain.controller.placement import find_place
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import BUDGET_EXCEEDED
from spotrain.job import ElasticJob
from tests.controller.builders import (
    NOW,
    after,
    applied,
    changed,
    cleared,
    created,
    job,
    pod,
    seen,
)
from tests.controller.strategies import histories


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


@pytest.mark.acceptance(37)
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


@pytest.mark.acceptance(18, 27)
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
    if plan.status.finished or this.suspend or plan.status.is_true(BUDGET_EXCEEDED):
        assert created(plan) == []


@pytest.mark.acceptance(12)
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
    elif this.suspend or final.status.is_true(BUDGET_EXCEEDED):
        assert final.pods == ()
    elif find_place(this, final, NOW).obstacle:
        assert len(final.pods) <= this.replicas
    else:
        assert len(final.pods) == this.replicas
        assert final.status.state == "Running"


@pytest.mark.acceptance(27, 37)
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
