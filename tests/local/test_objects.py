"""Objects of a made-up cluster are read as those of a real one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spotrain.controller.model import CoordinatorAddress
from spotrain.controller.observe import view_node, view_pod
from spotrain.controller.pod import build_pod
from spotrain.controller.scale_ups import view_scale_up
from spotrain.job import Offer, parse_job
from spotrain.local.cluster import Group, Node, Pod, refusal
from spotrain.local.objects import (
    event_object,
    node_object,
    pod_object,
    progress_object,
    remark_of_pod,
)
from spotrain.local.pools import pool_of
from tests.cli.documents import job

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
POOL = pool_of("t4", gpus_per_node=1)
NODE = Node("node-1", POOL, "here", started_at=0.0, uid="n", created_at=NOW)


def pod(**state: Any) -> Pod:
    asked = parse_job(job("digits", placement={"gpu": "t4"}))
    address = CoordinatorAddress("ws://127.0.0.1:1", local=True, token="t")
    manifest = build_pod(asked, 1, Offer(POOL, "here"), address)
    return Pod("digits-worker-1", "p", 1, manifest, NOW, **state)


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({}, id="waits"),
        pytest.param({"node": NODE, "scheduled_at": NOW}, id="starts"),
        pytest.param(
            {"node": NODE, "phase": "Running", "scheduled_at": NOW, "started_at": NOW}, id="runs"
        ),
        pytest.param(
            {
                "node": NODE,
                "phase": "Failed",
                "exit_code": 143,
                "disrupted": True,
                "scheduled_at": NOW,
                "started_at": NOW,
                "ended_at": NOW + timedelta(seconds=9),
            },
            id="was-taken",
        ),
    ],
)
def test_a_pod_is_seen_as_the_engine_itself_sees_it(state: dict[str, Any]) -> None:
    made = pod(**state)
    seen = view_pod(pod_object(made))
    assert seen
    known = made.view()
    for field in ("name", "uid", "index", "phase", "node", "ready", "exit_code", "disrupted"):
        assert getattr(seen.view, field) == getattr(known, field), field
    for field in ("created_at", "scheduled_at", "started_at", "ended_at", "place", "unschedulable"):
        assert getattr(seen.view, field) == getattr(known, field), field


def test_a_node_is_seen_as_the_engine_itself_sees_it() -> None:
    assert view_node(node_object(NODE)) == NODE.view()


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        pytest.param([Group(POOL, "here", 0)], "full", id="no-machine-left"),
        pytest.param([Group(POOL, "elsewhere", 9)], "failed", id="no-such-place"),
    ],
)
def test_what_keeps_a_node_away_is_said_as_the_autoscaler_says_it(
    groups: list[Group], kind: str
) -> None:
    waiting = pod()
    remark = remark_of_pod(waiting, None, refusal(waiting, groups))
    said = view_scale_up(event_object(remark))
    assert said
    assert (said[0], said[1].kind) == (waiting.uid, kind)


def test_an_order_is_said_as_the_autoscaler_says_it() -> None:
    said = view_scale_up(event_object(remark_of_pod(pod(), Group(POOL, "here", 9), "")))
    assert said
    assert said[1].kind == "ordered"


def test_what_the_script_tells_of_a_step_is_told_once_and_without_what_is_no_number() -> None:
    first = progress_object({}, 1, {"loss": 0.5, "odd": float("nan")}, NOW)
    assert (first["step"], first["metrics"]) == (1, {"loss": 0.5})
    assert progress_object(first, 1, {"loss": 0.4}, NOW) is first
    back = progress_object(first, 0, {"loss": 0.6}, NOW)
    assert back["step"] == 0
