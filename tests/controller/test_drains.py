"""Nodes that announce their end: exactly their workers leave, and before they must."""

from typing import Any

import pytest

from spotrain.controller.drains import find_notices
from spotrain.controller.model import NodeView, Observed, Taint
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import (
    NOW,
    after,
    applied,
    cleared,
    created,
    deleted,
    job,
    node,
    pod,
    reasons,
    seen,
)

SPOT = "aws-node-termination-handler/spot-itn"


def going(key: str = SPOT, effect: str = "NoSchedule", value: str = "") -> NodeView:
    return node("going", taints=(Taint(key, value, effect),))


def two_on(doomed: NodeView, **changes: Any) -> Observed:
    pods = (pod(0), pod(1, node="going"), pod(2))
    return seen(*pods, nodes=(node("node-1"), doomed), **changes)


@pytest.mark.acceptance(19)
@pytest.mark.parametrize(
    ("doomed", "leaves"),
    [
        pytest.param(going(), True, id="the-clouds-handler"),
        pytest.param(going("cloud.google.com/impending-node-termination"), True, id="google"),
        pytest.param(going("ToBeDeletedByClusterAutoscaler"), True, id="the-autoscaler"),
        pytest.param(going("karpenter.sh/disrupted"), True, id="karpenter"),
        pytest.param(going("spotrain.dev/leaving"), True, id="a-person"),
        pytest.param(going("spotrain.dev/leaving", "NoExecute"), True, id="at-once"),
        pytest.param(going(effect="PreferNoSchedule"), False, id="would-come-back-to-it"),
        pytest.param(going("nvidia.com/gpu"), False, id="a-taint-that-says-something-else"),
        pytest.param(node("going", cordoned=True), False, id="a-cordon-lets-pods-finish"),
    ],
)
def test_exactly_the_workers_of_a_node_that_goes_are_replaced(
    doomed: NodeView, leaves: bool
) -> None:
    plan = reconcile(job(), two_on(doomed), NOW)
    assert deleted(plan) == (["digits-worker-1"] if leaves else [])
    assert plan.status.restarts.disruptions == leaves
    assert plan.status.restarts.failures == 0


@pytest.mark.acceptance(19)
def test_the_replacement_follows_once_the_worker_has_left_and_is_counted_once() -> None:
    observed = two_on(going())
    first = reconcile(job(), observed, NOW)
    assert reasons(first) == ["Disrupted"]
    second = reconcile(job(), applied(observed, first), after(1))
    assert (created(second), deleted(second), reasons(second)) == ([], [], [])
    third = reconcile(job(), cleared(applied(observed, first)), after(2))
    assert created(third) == [1]
    assert third.status.restarts.disruptions == 1
    mark = third.status.last_disruption
    assert mark is not None
    assert (mark.pod, mark.node, mark.reason) == ("digits-worker-1", "going", f"taint {SPOT}")


@pytest.mark.parametrize(
    ("toleration", "stays"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": SPOT, "operator": "Exists"}, True, id="its-key"),
        pytest.param({"key": SPOT, "value": "now"}, True, id="its-value"),
        pytest.param({"key": SPOT, "operator": "Equal", "value": "x"}, False, id="another-value"),
        pytest.param({"key": "other", "operator": "Exists"}, False, id="another-key"),
        pytest.param(
            {"key": SPOT, "operator": "Exists", "effect": "NoExecute"}, False, id="effect"
        ),
    ],
)
def test_a_worker_that_tolerates_the_notice_stays(toleration: dict[str, str], stays: bool) -> None:
    container = {"name": "elasticjob-worker", "image": "img"}
    template = {"spec": {"containers": [container], "tolerations": [toleration]}}
    this = job(worker={"template": template})
    assert (find_notices(this, two_on(going(value="now"))) == ()) is stays
