"""What the status says of training, and how often it may say it."""

import math
from dataclasses import replace

import pytest

from spotrain.controller.progress import report
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus, Progress, Restarts, WorldStatus
from spotrain.ledger.entries import WorldEntry
from spotrain.worlds.history import Chapter
from tests.controller.builders import LONG_AGO, NOW, after, job, pod, seen, world

BEGUN = Chapter(number=5, members=("a", "b"), published_at=0.0, first_step=100, first_step_at=0.5)
FORMED = WorldEntry(number=5, size=2, published_at=NOW)


def status(number: int = 4, size: int = 3, step: int = 100) -> JobStatus:
    return JobStatus(
        world=WorldStatus(number, size, LONG_AGO, step),
        progress=Progress(step, NOW),
        restarts=Restarts(growths=2),
    )


def test_the_first_world_is_no_growth() -> None:
    first = report(seen(world=world(1, 3)), NOW)
    assert first.world == WorldStatus(1, 3, LONG_AGO, 100)
    assert first.progress == Progress(100, NOW)
    assert first.growths == 0


def test_a_larger_world_is_a_growth_and_a_smaller_one_is_none() -> None:
    assert report(seen(world=world(5, 4), status=status()), NOW).growths == 3
    assert report(seen(world=world(5, 2), status=status()), NOW).growths == 2


def test_steps_are_written_every_fifteen_seconds_at_most() -> None:
    observed = seen(world=world(4, 3, step=120), status=status())
    early, late = report(observed, after(14)), report(observed, after(15))
    assert early.progress == Progress(100, NOW)
    assert early.look_again == after(15)
    assert late.progress == Progress(120, after(15))


def test_where_no_api_server_has_to_bear_it_steps_are_written_as_often_as_is_asked_for() -> None:
    observed = replace(seen(world=world(4, 3, step=120), status=status()), refresh_seconds=1.0)
    assert report(observed, after(1)).progress == Progress(120, after(1))


def test_what_is_left_is_told_with_the_step_that_it_was_told_with() -> None:
    view = replace(world(4, 3, step=120), steps_left=80)
    assert report(seen(world=view, status=status()), after(15)).progress == Progress(
        120, after(15), steps_left=80
    )


def test_a_new_world_and_the_jobs_end_do_not_wait() -> None:
    newer = report(seen(world=world(5, 2, step=130), status=status()), after(1))
    assert newer.progress == Progress(130, after(1))
    ended = report(seen(world=world(4, 3, step=130), status=status()), after(1), last=True)
    assert ended.progress == Progress(130, after(1))


def test_the_first_step_of_a_world_is_written_at_once_and_only_once() -> None:
    """Its ledger then knows what the change before it cost; the step may be an older one's."""
    begun = replace(world(5, 2), chapters=(BEGUN,), clock_began=NOW)
    formed = replace(status(number=5, size=2), history=(FORMED,))
    observed = seen(world=begun, status=formed)
    assert report(observed, after(1)).progress == Progress(100, after(1))
    written = reconcile(job(), observed, after(1)).status
    assert written.history[-1].first_step_at == after(0.5)
    later = report(replace(observed, status=written), after(2))
    assert later.progress == Progress(100, after(1))


def test_a_coordinator_that_no_longer_leads_is_not_believed() -> None:
    old = report(seen(world=world(3, 8, step=5), status=status()), after(60))
    assert (old.world, old.growths) == (status().world, 2)
    assert old.progress == Progress(100, NOW)


def test_a_coordinator_that_knows_nothing_leaves_the_last_word_standing() -> None:
    assert report(seen(status=status()), after(60)).world == status().world
    assert report(seen(world=world(4, 0), status=status()), after(60)).world == status().world


def test_the_last_step_is_on_record_when_the_job_has_succeeded() -> None:
    observed = seen(pod(0, "Succeeded"), world=world(4, 3, step=130), status=status())
    plan = reconcile(job(), observed, after(1))
    assert plan.status.progress == Progress(130, after(1))


def test_the_last_step_is_on_record_though_no_world_trains_any_more() -> None:
    closed = world(4, 0, step=130, outcome="succeeded")
    plan = reconcile(job(), seen(world=closed, status=status()), after(1))
    assert plan.status.progress == Progress(130, after(1))
    forgetful = report(seen(world=world(4, 0, step=0), status=status()), after(1), last=True)
    assert forgetful.progress == Progress(100, NOW)


def test_the_last_step_of_a_suspended_job_is_on_record_once_its_last_world_has_ended() -> None:
    leaving = seen(world=world(4, 3, step=130), status=status())
    assert reconcile(job(suspend=True), leaving, after(1)).status.progress == Progress(100, NOW)
    gone = seen(world=world(4, 0, step=140), status=status())
    assert reconcile(job(suspend=True), gone, after(1)).status.progress == Progress(140, after(1))


@pytest.mark.acceptance(10)
def test_restarts_inside_the_pods_are_counted_and_never_forgotten() -> None:
    first = reconcile(job(), seen(world=world(restarts=2)), NOW)
    assert first.status.restarts.in_place == 2
    forgetful = seen(world=world(restarts=0), status=first.status)
    assert reconcile(job(), forgetful, after(1)).status.restarts.in_place == 2


def test_metrics_come_with_the_step_and_only_what_a_status_can_hold() -> None:
    told = {f"m{number}": float(number) for number in range(40)}
    told |= {"loss": 0.5, "gone": math.nan, "x" * 64: 1.0}
    observed = seen(world=replace(world(4, 3, step=120), metrics=told), status=status())
    written = report(observed, after(15)).progress
    assert written is not None
    assert written.metrics is not None
    assert list(written.metrics) == [*(f"m{number}" for number in range(25, 40)), "loss"]
