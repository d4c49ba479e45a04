"""From the API server's objects to what the reconciler knows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spotrain.controller.model import BudgetView, NodeView, PodView, StalledWorld, Taint
from spotrain.controller.observe import (
    SeenBudget,
    SeenJob,
    pods_of,
    view_budget,
    view_job,
    view_node,
    view_pod,
    view_world,
)
from spotrain.coordinator.report import JobReport
from spotrain.job import ElasticJob, JobError
from spotrain.worlds import Phase, Reason
from spotrain.worlds.history import Chapter
from tests.controller.builders import NOW, document

MORNING = "2026-01-01T08:00:00Z"
OWNER = {"apiVersion": "elastic.pytorch.org/v1alpha1", "kind": "ElasticJob", "controller": True}


def pod(status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    containers = [{"name": "logger"}, {"name": "elasticjob-worker"}]
    return {
        "metadata": {
            "name": "digits-worker-1",
            "namespace": "jobs",
            "uid": "pod-uid",
            "creationTimestamp": MORNING,
            "labels": {"replica-index": "1"},
            "ownerReferences": [{**OWNER, "name": "digits", "uid": "job-uid"}],
            **metadata,
        },
        "spec": {"containers": containers, "nodeName": "node-1"},
        "status": status or {},
    }


def view(status: dict[str, Any] | None = None, **metadata: Any) -> PodView:
    seen = view_pod(pod(status, **metadata))
    assert seen is not None
    return seen.view


def ended(name: str, **terminated: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": name, "state": {"terminated": terminated}}]}


def stored(**status: Any) -> SeenJob:
    given = document()
    given["metadata"]["resourceVersion"] = "7"
    seen = view_job({**given, "status": status})
    assert seen is not None
    return seen


# --- Pods ---


@pytest.mark.parametrize(
    ("given", "phase"),
    [
        pytest.param({}, "Pending", id="not told yet"),
        pytest.param({"phase": "Pending"}, "Pending", id="pending"),
        pytest.param({"phase": "Running"}, "Running", id="running"),
        pytest.param({"phase": "Succeeded"}, "Succeeded", id="succeeded"),
        pytest.param({"phase": "Failed"}, "Failed", id="failed"),
        pytest.param({"phase": "Unknown"}, "Running", id="on a silent node"),
    ],
)
def test_a_pods_phase_is_told(given: dict[str, Any], phase: str) -> None:
    assert view(given).phase == phase


def test_a_new_pod_is_seen_with_its_index_and_its_age() -> None:
    seen = view()
    assert (seen.name, seen.uid, seen.index, seen.node) == (
        "digits-worker-1",
        "pod-uid",
        1,
        "node-1",
    )
    assert seen.created_at == datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert (seen.ready, seen.deleting, seen.exit_code, seen.unschedulable) == (
        False,
        False,
        None,
        "",
    )


def test_the_exit_code_is_the_training_containers_and_not_a_sidecars() -> None:
    failed = {"phase": "Failed", **ended("elasticjob-worker", exitCode=137, reason="OOMKilled")}
    assert (view(failed).exit_code, view(failed).reason) == (137, "OOMKilled")
    assert view({"phase": "Running", **ended("logger", exitCode=1)}).exit_code is None


def test_the_pods_own_reason_comes_before_its_containers() -> None:
    status = {"reason": "Evicted", **ended("elasticjob-worker", exitCode=1, reason="Error")}
    assert view(status).reason == "Evicted"


def test_the_termination_message_comes_before_the_pods_own() -> None:
    assert view({"message": "node was low on memory"}).message == "node was low on memory"
    both = {"message": "pod", **ended("elasticjob-worker", exitCode=1, message="ValueError: x")}
    assert view(both).message == "ValueError: x"


@pytest.mark.acceptance(17)
def test_readiness_and_disruption_are_read_from_conditions() -> None:
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
    ]
    seen = view({"phase": "Running", "conditions": conditions})
    assert (seen.ready, seen.disrupted) == (True, True)
    turned = [{**condition, "status": "False"} for condition in conditions]
    seen = view({"phase": "Running", "conditions": turned})
    assert (seen.ready, seen.disrupted) == (False, False)


def test_the_scheduler_says_why_a_pod_waits() -> None:
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    told = view({"conditions": [{**waits, "message": "0/3 nodes are available"}]})
    assert told.unschedulable == "0/3 nodes are available"
    gated = {**waits, "reason": "SchedulingGated", "message": "gated"}
    assert view({"conditions": [gated]}).unschedulable == ""


def test_a_deleted_pod_is_seen_with_the_end_of_its_grace_period() -> None:
    seen = view(deletionTimestamp="2026-01-01T08:01:30Z")
    assert seen.deleting
    assert seen.delete_by == datetime(2026, 1, 1, 8, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(("cost", "read"), [("-5", -5), ("cheap", 0)])
def test_a_deletion_cost_is_a_number_or_nothing(cost: str, read: int) -> None:
    annotations = {"controller.kubernetes.io/pod-deletion-cost": cost}
    assert view(annotations=annotations).deletion_cost == read


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"ownerReferences": []}, id="nobody's"),
        pytest.param({"ownerReferences": [{**OWNER, "controller": False}]}, id="not controlled"),
        pytest.param({"ownerReferences": [{**OWNER, "apiVersion": "v1"}]}, id="of another group"),
        pytest.param({"labels": {}}, id="without an index"),
        pytest.param({"labels": {"replica-index": "one"}}, id="with a strange index"),
    ],
)
def test_a_pod_that_is_no_worker_is_left_out(metadata: dict[str, Any]) -> None:
    assert view_pod(pod(**metadata)) is None


@pytest.mark.acceptance(37)
def test_a_job_has_only_the_pods_of_its_own_uid_in_the_order_of_their_index() -> None:
    def made(name: str, index: str, **changes: Any) -> Any:
        return view_pod(pod(name=name, labels={"replica-index": index}, **changes))

    earlier = [{**OWNER, "name": "digits", "uid": "uid-of-a-namesake"}]
    pods = [
        made("b", "1"),
        made("a", "0"),
        made("of a namesake", "2", ownerReferences=earlier),
        made("elsewhere", "3", namespace="others"),
    ]
    assert [pod.name for pod in pods_of(stored(), pods)] == ["a", "b"]


def test_a_pod_says_to_which_place_it_was_pinned_and_since_when_it_has_a_node() -> None:
    found = {"type": "PodScheduled", "status": "True", "lastTransitionTime": MORNING}
    waits = [{"name": "elasticjob-worker", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    status = {"conditions": [found], "containerStatuses": waits}
    seen = view(status, annotations={"spotrain.dev/offer": "t4-spot/eu-west-1a"})
    assert seen.place == "t4-spot/eu-west-1a"
    assert seen.scheduled_at == datetime.fromisoformat(MORNING)
    assert seen.waits_for == "ImagePullBackOff"
    assert (view().place, view().scheduled_at, view().waits_for) == ("", None, "")


# --- Nodes ---


@pytest.mark.parametrize(("offered", "read"), [("8", 8), (None, 0), ("none", 0)])
def test_the_gpus_of_a_node_are_those_that_pods_can_have(offered: str | None, read: int) -> None:
    resources = {"nvidia.com/gpu": offered} if offered else {}
    metadata = {"name": "n", "creationTimestamp": MORNING}
    node = view_node({"metadata": metadata, "status": {"allocatable": resources}})
    assert node.gpus == read
    assert node.created_at == datetime.fromisoformat(MORNING)


def test_a_node_is_seen_with_its_pool_zone_and_state() -> None:
    labels = {
        "spotrain.dev/pool": "t4-spot",
        "spotrain.dev/capacity": "spot",
        "topology.kubernetes.io/zone": "eu-west-1a",
        "node.kubernetes.io/instance-type": "g4dn.xlarge",
    }
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = {"metadata": {"name": "n", "labels": labels}, "spec": {}, "status": ready}
    assert view_node(node) == NodeView(
        "n",
        "t4-spot",
        "eu-west-1a",
        ready=True,
        cordoned=False,
        capacity="spot",
        instance_type="g4dn.xlarge",
    )
    assert view_node({**node, "spec": {"unschedulable": True}}).cordoned


@pytest.mark.parametrize(("status", "since"), [("Unknown", MORNING), ("False", None)])
def test_a_node_that_says_nothing_is_told_from_one_that_says_no(
    status: str, since: str | None
) -> None:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": MORNING}
    view = view_node({"metadata": {"name": "n"}, "status": {"conditions": [condition]}})
    assert not view.ready
    assert view.silent_since == (datetime.fromisoformat(since) if since else None)


def test_a_node_outside_of_all_pools_is_seen_too() -> None:
    bare = {"metadata": {"name": "n"}}
    assert view_node(bare) == NodeView("n", "", "", ready=False, cordoned=False)


# --- Jobs ---


def test_a_job_is_seen_with_its_version_and_its_stored_status() -> None:
    seen = stored(restarts={"failures": 2})
    assert isinstance(seen.job, ElasticJob)
    assert (seen.key, seen.version) == ("jobs/digits/job-uid", "7")
    assert seen.status.restarts.failures == 2


def test_a_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    given = document()
    given["metadata"] |= {"resourceVersion": "7", "deletionTimestamp": MORNING}
    assert view_job(given) is None


def test_a_job_that_does_not_parse_is_seen_with_its_faults() -> None:
    given = document(minReplicas=9)
    given["metadata"]["resourceVersion"] = "7"
    seen = view_job(given)
    assert seen is not None
    assert isinstance(seen.job, JobError)


# --- Worlds ---


def telling(**changes: Any) -> JobReport:
    report = JobReport(
        number=1,
        size=1,
        phase=Phase.RUNNING,
        since=0.0,
        step=0,
        epoch=0,
        metrics={},
        outcome="",
        message="",
        restarts=0,
        history=(Chapter(number=1, members=("a",), published_at=0.0),),
    )
    return replace(report, **changes)


@pytest.mark.parametrize(
    ("said", "outcome"), [("succeeded", "succeeded"), ("failed", "failed"), ("", None)]
)
def test_the_coordinators_report_is_told_in_wall_clock_time(said: str, outcome: Any) -> None:
    report = telling(
        number=4,
        size=3,
        since=100.0,
        step=70,
        epoch=1,
        outcome=said,
        message="boom",
        restarts=1,
        history=(),
    )
    seen = view_world(report, clock=130.0, now=NOW)
    assert (seen.number, seen.size, seen.phase, seen.step) == (4, 3, "running", 70)
    assert seen.since == NOW - timedelta(seconds=30)
    assert (seen.outcome, seen.message, seen.restarts) == (outcome, "boom", 1)


TRAINED = Chapter(number=1, members=("a",), published_at=0.0, last_step=0)


@pytest.mark.parametrize(
    ("report", "awaits"),
    [
        pytest.param(telling(uses_session=True), True, id="a script with the library"),
        pytest.param(telling(), False, id="a plain one never tells of a step"),
        pytest.param(
            telling(uses_session=True, history=(TRAINED,)), False, id="a loop that counts no steps"
        ),
    ],
)
def test_a_first_step_is_awaited_of_who_will_tell_of_it(report: JobReport, awaits: bool) -> None:
    assert view_world(report, clock=0.0, now=NOW).awaits_first_step is awaits


@pytest.mark.acceptance(24)
def test_the_last_world_that_hung_is_seen_with_the_coordinators_words() -> None:
    ends = [(1, Reason.STALL, "rank 1"), (2, Reason.STALL, "rank 3"), (3, Reason.LOSS, "a is gone")]
    told = tuple(
        Chapter(number=number, members=("a",), published_at=0.0, reason=reason, message=message)
        for number, reason, message in ends
    )
    report = telling(number=4, step=70, epoch=1, restarts=2, history=told)
    assert view_world(report, clock=0.0, now=NOW).stalled == StalledWorld(2, "rank 3")


@pytest.mark.acceptance(19)
def test_a_nodes_taints_are_seen() -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "x"}]
    node = {"metadata": {"name": "n"}, "spec": {"taints": taints}}
    assert view_node(node).taints == (Taint("a", "", "NoSchedule"), Taint("b", "c", "x"))


@pytest.mark.acceptance(15)
def test_when_the_training_container_ended_is_seen() -> None:
    failed = {"phase": "Failed", **ended("elasticjob-worker", exitCode=1, finishedAt=MORNING)}
    assert view(failed).ended_at == datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
    assert view({"phase": "Running", **ended("logger", finishedAt=MORNING)}).ended_at is None


def test_when_the_training_container_started_is_seen_also_once_it_has_ended() -> None:
    running = {"name": "elasticjob-worker", "state": {"running": {"startedAt": MORNING}}}
    assert view({"containerStatuses": [running]}).started_at == datetime.fromisoformat(MORNING)
    over = ended("elasticjob-worker", exitCode=1, startedAt=MORNING)
    assert view(over).started_at == datetime.fromisoformat(MORNING)
    assert view(ended("logger", startedAt=MORNING)).started_at is None


def test_a_pod_asks_for_the_gpus_of_all_its_containers() -> None:
    document = pod()
    for container in document["spec"]["containers"]:
        container["resources"] = {"limits": {"nvidia.com/gpu": 2}}
    seen = view_pod(document)
    assert seen is not None
    assert seen.view.gpus == 4


@pytest.mark.parametrize(
    ("least", "seen"),
    [pytest.param(2, 2, id="of-ours"), pytest.param("50%", 0, id="changed-by-somebody")],
)
def test_a_budget_is_seen_with_its_job(least: Any, seen: int) -> None:
    metadata = {"uid": "u", "ownerReferences": [{**OWNER, "name": "digits", "uid": "job-uid"}]}
    found = view_budget({"metadata": metadata, "spec": {"minAvailable": least}})
    assert found == SeenBudget("job-uid", BudgetView("u", seen))
    assert view_budget({"metadata": {"uid": "u"}, "spec": {"minAvailable": 2}}) is None
