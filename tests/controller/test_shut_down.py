"""Pods that a reclaimed machine leaves behind, Failed, are replaced, removed, and no failure."""

from typing import Any

import pytest

from spotrain.controller.model import PodView
from spotrain.controller.observe import view_pod
from spotrain.controller.reconcile import reconcile
from tests.controller import shut_down
from tests.controller.builders import (
    LONG_AGO,
    NOW,
    after,
    applied,
    built,
    cleared,
    created,
    deleted,
    job,
    node,
    pod,
    reasons,
    seen,
)


def left_behind(status: dict[str, Any], index: int = 1) -> PodView:
    """The pod that the controller made, with what its kubelet wrote last."""
    document = built(job(), index)
    document["metadata"] |= {"uid": f"uid-{index}", "creationTimestamp": LONG_AGO.isoformat()}
    document["spec"]["nodeName"] = "gke-dev-t4-spot-us-central1-a-1a2b3c4d-x1y2"
    found = view_pod({**document, "status": status})
    assert found
    return found.view


@pytest.mark.parametrize("status", shut_down.ALL.values(), ids=shut_down.ALL)
@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param((node("node-1"),), id="node-gone"),
        pytest.param(
            (node("node-1"), node("gke-dev-t4-spot-us-central1-a-1a2b3c4d-x1y2", ready=False)),
            id="node-on-its-way-out",
        ),
    ],
)
def test_it_is_cleaned_up_replaced_and_no_failure(
    status: dict[str, Any], nodes: tuple[Any, ...]
) -> None:
    this = job(backoffLimit=0)
    now = seen(pod(0), left_behind(status), pod(2), nodes=nodes)
    first = reconcile(this, now, NOW)
    assert deleted(first) == ["digits-worker-1"]
    assert (first.status.restarts.disruptions, first.status.restarts.failures) == (1, 0)
    assert "Disrupted" in reasons(first)
    second = reconcile(this, cleared(applied(now, first)), after(1))
    assert created(second) == [1]
    assert second.status.restarts.disruptions == 1
    assert not second.status.finished


def test_a_whole_node_that_goes_takes_all_of_its_workers_and_no_patience() -> None:
    this = job(backoffLimit=0)
    gone = [left_behind(shut_down.LEFT_IN_TIME, index) for index in range(3)]
    now = seen(*gone)
    first = reconcile(this, now, NOW)
    assert (first.status.restarts.disruptions, first.status.restarts.failures) == (3, 0)
    assert created(reconcile(this, cleared(applied(now, first)), after(1))) == [0, 1, 2]


def test_a_script_that_fails_while_its_node_lives_still_counts() -> None:
    """The same exit code, without the kubelet's word."""
    failed = left_behind({**shut_down.OF_AN_OLDER_KUBELET, "reason": ""})
    plan = reconcile(job(), seen(pod(0), failed, pod(2)), NOW)
    assert (plan.status.restarts.disruptions, plan.status.restarts.failures) == (0, 1)
