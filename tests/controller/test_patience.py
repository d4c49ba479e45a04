"""How long a job waits with fewer workers than it needs."""

from dataclasses import replace

import pytest

from spotrain.controller.model import Observed
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    NOW,
    after,
    applied,
    changed,
    deleted,
    job,
    pod,
    seen,
    started,
    truths,
)

PATIENT = {"minReplicas": 2, "elastic": {"minReplicasTimeoutSeconds": 60}}


def below_min() -> Observed:
    """A job that ran, and has lost all but one of its workers now."""
    this = job(**PATIENT)
    observed = started(this)
    for index in (1, 2):
        observed = changed(observed, index, ready=False, phase="Pending")
    return replace(observed, status=reconcile(this, observed, NOW).status)


@pytest.mark.acceptance(16)
def test_a_job_below_its_min_for_too_long_fails() -> None:
    waiting = reconcile(job(**PATIENT), below_min(), after(59))
    assert not waiting.status.finished
    assert waiting.requeue_at == after(60)
    plan = reconcile(job(**PATIENT), below_min(), after(60))
    assert truths(plan.status)["Failed"] == "MinReplicasTimeout"
    failed = plan.status.condition("Failed")
    assert failed is not None
    assert "1 of 3 workers are ready, 2 needed" in failed.message
    assert len(deleted(plan)) == 3


@pytest.mark.acceptance(16)
def test_a_worker_that_comes_back_in_time_stops_the_clock() -> None:
    this, back = job(**PATIENT), changed(below_min(), 1, ready=True, phase="Running")
    plan = reconcile(this, back, after(60))
    assert not plan.status.finished
    lost = replace(changed(back, 1, ready=False, phase="Pending"), status=plan.status)
    again = reconcile(this, lost, after(70))
    assert reconcile(this, applied(lost, again), after(129)).status.finished is False
    assert reconcile(this, applied(lost, again), after(130)).status.finished


def test_without_a_limit_a_job_waits_for_nodes_for_ever() -> None:
    assert not reconcile(job(minReplicas=2), below_min(), after(10**6)).status.finished


def test_the_clock_of_a_resumed_job_starts_when_it_is_resumed() -> None:
    suspended = reconcile(job(**PATIENT, suspend=True), below_min(), after(9))
    assert not suspended.status.finished
    gone = seen(status=suspended.status)
    resumed = reconcile(job(**PATIENT), gone, after(1000))
    assert not resumed.status.finished
    waiting = seen(pod(0, "Pending"), status=resumed.status)
    assert not reconcile(job(**PATIENT), waiting, after(1059)).status.finished
    assert reconcile(job(**PATIENT), waiting, after(1060)).status.finished
