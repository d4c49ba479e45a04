"""Workers of an old spec are renewed; those of an old controller are not."""

from dataclasses import replace
from typing import Any

import pytest

from spotrain.controller.observe import view_pod
from spotrain.controller.outdated import find_outdated, made_of
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    NOW,
    after,
    applied,
    built,
    cleared,
    created,
    deleted,
    job,
    pod,
    reasons,
    seen,
)

OTHER = {"template": {"spec": {"containers": [{"name": "elasticjob-worker", "image": "other"}]}}}


@pytest.mark.acceptance(8)
@pytest.mark.parametrize(
    ("spec", "renewed"),
    [
        pytest.param({"worker": OTHER}, True, id="template"),
        pytest.param({"worker": {"restartPolicy": "OnFailure"}}, True, id="restart-policy"),
        pytest.param({"rdzvEndpoint": "etcd:1"}, True, id="rendezvous"),
        pytest.param({"maxReplicas": 4}, False, id="the-coordinator-takes-new-limits"),
        pytest.param({"backoffLimit": 1}, False, id="what-pods-are-not-made-of"),
    ],
)
def test_workers_of_another_spec_are_renewed_together(spec: dict[str, Any], renewed: bool) -> None:
    before = made_of(job())
    observed = seen(*(pod(index, made_of=before) for index in range(3)))
    plan = reconcile(job(**spec), observed, NOW)
    assert len(deleted(plan)) == (3 if renewed else 0)
    assert plan.status.restarts.disruptions == 0


@pytest.mark.acceptance(8)
def test_torchruns_own_rendezvous_meets_new_limits_under_a_new_id() -> None:
    old, new = job(rdzvEndpoint="etcd:1"), job(rdzvEndpoint="etcd:1", maxReplicas=5)
    observed = seen(*(pod(index, made_of=made_of(old)) for index in range(3)))
    plan = reconcile(new, observed, NOW)
    assert reasons(plan) == ["WorkersRenewed"]
    assert plan.status.attempt == 1
    waiting = reconcile(new, applied(observed, plan), after(1))
    assert (waiting.status.attempt, created(waiting), reasons(waiting)) == (1, [], [])
    fresh = reconcile(new, cleared(applied(observed, plan)), after(2))
    assert created(fresh) == [0, 1, 2]
    assert fresh.status.attempt == 1


def test_a_pod_says_itself_what_it_is_made_of() -> None:
    manifest = built(job())
    manifest["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T12:00:00Z"}
    view = view_pod(manifest)
    assert view is not None
    assert view.view.made_of == made_of(job())


def test_what_only_the_controller_adds_renews_nothing() -> None:
    """A new version of it must not restart every job."""
    assert find_outdated(job(), seen(pod(0, made_of=""))) == ()
    assert made_of(job()) == made_of(replace(job(), generation=9, labels={"a": "b"}))
