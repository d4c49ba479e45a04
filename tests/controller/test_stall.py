"""A world that hangs is restarted from its checkpoint."""

from dataclasses import replace
from typing import Any

import pytest

from spotrain.controller.model import Observed, RestartWorld, StalledWorld
from spotrain.controller.reconcile import reconcile
from spotrain.controller.stall import find_stall
from spotrain.controller.status import Progress
from tests.controller.builders import NOW, after, applied, job, pod, reasons, seen, started, world

HASTY = {"elastic": {"progressDeadlineSeconds": 60}}


def training(step: int = 100, **changes: Any) -> Observed:
    """A job that has told of that step just now."""
    observed = started(job(), world=world(4, step=step, **changes))
    status = replace(observed.status, progress=Progress(step, NOW))
    return replace(observed, status=status)


@pytest.mark.acceptance(24)
def test_a_world_without_a_step_is_restarted_and_named() -> None:
    observed = training()
    assert reconcile(job(**HASTY), observed, after(59)).requeue_at == after(60)
    plan = reconcile(job(**HASTY), observed, after(60))
    (restart,) = plan.actions
    assert isinstance(restart, RestartWorld)
    assert restart.number == 4
    assert "no step after 100 for 60 s" in restart.message
    assert reasons(plan) == ["WorldStalled"]
    stall = plan.status.last_stall
    assert stall is not None
    assert (stall.world, stall.step, stall.at) == (4, 100, after(60))


@pytest.mark.acceptance(24)
def test_the_last_step_before_a_hang_is_looked_at_again_though_nothing_happens_any_more() -> None:
    observed = replace(training(), world=world(4, step=101))
    plan = reconcile(job(**HASTY), observed, after(20))
    assert plan.requeue_at == after(80)
    silent = replace(observed, status=plan.status)
    assert reconcile(job(**HASTY), silent, after(80)).actions != ()


@pytest.mark.acceptance(24)
def test_a_stall_is_told_once_and_restarted_until_the_coordinator_has_done_it() -> None:
    observed = training()
    plan = reconcile(job(**HASTY), observed, after(60))
    unchanged = replace(observed, status=plan.status)
    again = reconcile(job(**HASTY), unchanged, after(61))
    assert (again.actions, again.events) == (plan.actions, ())
    assert again.status.last_stall == plan.status.last_stall
    assert reconcile(job(**HASTY), applied(observed, plan), after(61)).actions == ()


@pytest.mark.acceptance(24)
def test_the_ranks_that_hung_are_told_once_and_kept() -> None:
    observed = training()
    plan = reconcile(job(**HASTY), observed, after(60))
    found = StalledWorld(4, "behind or stuck: rank 3 (...)")
    next_world = world(5, step=100, since=after(61), stalled=found)
    unchanged = replace(observed, status=plan.status, world=next_world)
    told = reconcile(job(**HASTY), unchanged, after(61))
    (event,) = told.events
    assert (event.reason, event.message) == ("RanksBehind", found.message)
    mark = told.status.last_stall
    assert mark is not None
    assert (mark.world, mark.message) == (4, found.message)
    again = reconcile(job(**HASTY), replace(unchanged, status=told.status), after(62))
    assert (again.events, again.status.last_stall) == ((), mark)


def test_what_hung_in_an_earlier_world_is_not_said_of_a_later_one() -> None:
    observed = training()
    earlier = replace(observed, world=world(4, step=100, stalled=StalledWorld(2, "rank 3")))
    plan = reconcile(job(**HASTY), earlier, after(60))
    assert reasons(plan) == ["WorldStalled"]
    again = replace(earlier, status=plan.status)
    assert reasons(reconcile(job(**HASTY), again, after(61))) == []


EAGER = {"elastic": {"progressDeadlineSeconds": 60, "firstStepDeadlineSeconds": 100}}


def starting(**changes: Any) -> Observed:
    """A job whose script will tell of its steps, and has told of none yet."""
    begun = world(1, step=0, since=NOW, awaits_first_step=True)
    observed = started(job(), world=replace(begun, **changes))
    return replace(observed, status=replace(observed.status, progress=Progress(0, NOW)))


@pytest.mark.acceptance(24)
def test_a_first_step_that_does_not_come_is_started_again_by_its_own_deadline() -> None:
    assert reconcile(job(**EAGER), starting(), after(61)).requeue_at == after(100)
    plan = reconcile(job(**EAGER), starting(), after(100))
    (restart,) = plan.actions
    assert isinstance(restart, RestartWorld)
    assert "has not done the job's first step within 100 s" in restart.message
    assert "spec.elastic.firstStepDeadlineSeconds" in restart.message
    assert reasons(plan) == ["WorldStalled"]


def test_each_world_has_the_whole_time_for_the_jobs_first_step() -> None:
    assert find_stall(job(**EAGER), starting(since=after(90)), after(189)).restart is None
    assert find_stall(job(**EAGER), starting(since=after(90)), after(190)).restart is not None


def test_after_the_first_step_its_deadline_counts_no_more() -> None:
    begun = starting(step=1, awaits_first_step=False)
    status = replace(begun.status, progress=Progress(1, NOW))
    assert find_stall(job(**EAGER), replace(begun, status=status), after(60)).restart is not None


@pytest.mark.parametrize(
    ("elastic", "restarts"),
    [
        ({"progressDeadlineSeconds": 0, "firstStepDeadlineSeconds": 100}, True),
        ({"progressDeadlineSeconds": 60, "firstStepDeadlineSeconds": 0}, False),
    ],
)
def test_either_deadline_is_switched_off_alone(elastic: dict[str, int], restarts: bool) -> None:
    stalling = find_stall(job(elastic=elastic), starting(), after(1000))
    assert (stalling.restart is not None) == restarts


@pytest.mark.parametrize(
    ("observed", "spec"),
    [
        pytest.param(seen(pod(0), world=world(step=0)), HASTY, id="a-script-that-tells-no-steps"),
        pytest.param(starting(phase="waiting", size=0), HASTY, id="no-first-world-yet"),
        pytest.param(starting(), HASTY, id="a-first-step-may-compile"),
        pytest.param(training(phase="waiting", size=0), HASTY, id="no-world-trains"),
        pytest.param(training(phase="draining"), HASTY, id="a-drain-has-its-own-deadline"),
        pytest.param(training(since=after(1)), HASTY, id="a-world-that-has-just-begun"),
        pytest.param(replace(training(), world=world(4, step=101)), HASTY, id="a-new-step"),
        pytest.param(training(), {"elastic": {"progressDeadlineSeconds": 0}}, id="switched-off"),
        pytest.param(training(), {**HASTY, "rdzvEndpoint": "etcd:1"}, id="not-ours-to-see"),
        pytest.param(replace(training(), world=None), HASTY, id="the-coordinator-knows-nothing"),
    ],
)
def test_who_may_still_be_at_work_is_left_alone(observed: Observed, spec: dict[str, Any]) -> None:
    assert find_stall(job(**spec), observed, after(60)).restart is None
