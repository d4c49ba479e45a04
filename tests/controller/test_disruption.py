"""Who was taken away, and who failed."""

from typing import Any

import pytest

from spotrain.controller.disruption import find_disruptions, is_disrupted
from spotrain.controller.reconcile import reconcile
from spotrain.controller.status import JobStatus
from tests.controller.builders import NOW, after, deleted, job, node, pod, reasons, seen

SILENT: dict[str, Any] = {"ready": False, "silent_since": NOW}
SIGNAL = "SignalException: Process 1 got signal: 15"
OWN_WAY: dict[str, Any] = {"rdzvEndpoint": "etcd-service:2379"}


@pytest.mark.acceptance(14, 17)
@pytest.mark.parametrize(
    ("policy", "pod_is", "expected"),
    [
        pytest.param("ExitCode", {"exit_code": 1}, False, id="exit-1-is-a-failure"),
        pytest.param("ExitCode", {"exit_code": 2}, False, id="usage-is-a-failure"),
        pytest.param("ExitCode", {"exit_code": 139}, False, id="a-crash-is-a-failure"),
        pytest.param("ExitCode", {"exit_code": 130}, True, id="sigint"),
        pytest.param("ExitCode", {"exit_code": 137}, True, id="sigkill"),
        pytest.param("ExitCode", {"exit_code": 138}, True, id="sigusr1"),
        pytest.param("ExitCode", {"exit_code": 143}, True, id="sigterm"),
        pytest.param("OnFailure", {"exit_code": 143}, True, id="on-failure-knows-signals-too"),
        pytest.param("Always", {"exit_code": 137}, True, id="and-always"),
        pytest.param("Never", {"exit_code": 137}, False, id="never-excuses-no-code"),
        pytest.param("Never", {"exit_code": 1, "disrupted": True}, True, id="but-a-drain"),
        pytest.param(
            "ExitCode", {"exit_code": 137, "reason": "OOMKilled"}, False, id="out-of-memory"
        ),
        pytest.param("ExitCode", {"exit_code": None, "reason": "Evicted"}, True, id="evicted"),
        pytest.param("Never", {"exit_code": None, "reason": "NodeLost"}, True, id="node-lost"),
        pytest.param("ExitCode", {"exit_code": 1, "reason": "Shutdown"}, True, id="node-shutdown"),
        pytest.param("ExitCode", {"exit_code": 1, "reason": "Preempting"}, True, id="preempted"),
        pytest.param("ExitCode", {"exit_code": 1, "reason": "Terminated"}, True, id="terminated"),
        pytest.param("Never", {"exit_code": 1, "reason": "Terminated"}, True, id="never-forgives"),
        pytest.param(
            "ExitCode", {"exit_code": None, "reason": "NodeShutdown"}, True, id="came-too-late"
        ),
        pytest.param(
            "ExitCode", {"exit_code": None, "reason": "NodeAffinity"}, True, id="reborn-node"
        ),
        pytest.param("ExitCode", {"exit_code": 1, "disrupted": True}, True, id="condition"),
        pytest.param("ExitCode", {"exit_code": 200}, False, id="no-code-of-upstreams"),
        pytest.param("ExitCode", {"exit_code": None}, False, id="no-evidence-is-a-failure"),
        pytest.param("ExitCode", {"exit_code": 1, "reason": "Error"}, False, id="plain-error"),
    ],
)
def test_what_ended_a_worker_decides_whether_it_counts(
    policy: str, pod_is: dict[str, Any], expected: bool
) -> None:
    this = job(worker={"restartPolicy": policy})
    assert is_disrupted(this, pod(0, "Failed", **pod_is)) is expected


@pytest.mark.acceptance(15)
def test_with_torchruns_own_rendezvous_peers_of_a_lost_worker_are_no_failures() -> None:
    """Stock torchrun exits 1 whatever happened; only its message tells."""
    fallen = pod(0, "Failed", exit_code=1, message=SIGNAL)
    assert is_disrupted(job(**OWN_WAY), fallen)
    assert not is_disrupted(job(), fallen)


@pytest.mark.acceptance(17)
def test_a_disrupted_worker_is_removed_at_once_and_no_failure_counted() -> None:
    plan = reconcile(job(), seen(pod(0), pod(1, "Failed", exit_code=137), pod(2)), NOW)
    assert deleted(plan) == ["digits-worker-1"]
    assert plan.status.restarts.disruptions == 1
    assert plan.status.restarts.failures == 0
    assert "Disrupted" in reasons(plan)


@pytest.mark.acceptance(17)
def test_each_disruption_is_counted_once_however_often_it_is_seen() -> None:
    drained = seen(pod(0, disrupted=True), pod(1), pod(2))
    first = reconcile(job(), drained, NOW)
    leaving = seen(pod(0, disrupted=True, deleting=True), pod(1), pod(2), status=first.status)
    second = reconcile(job(), leaving, after(1))
    ended = seen(
        pod(0, "Failed", exit_code=143, disrupted=True, deleting=True),
        pod(1),
        pod(2),
        status=second.status,
    )
    third = reconcile(job(), ended, after(2))
    assert [p.status.restarts.disruptions for p in (first, second, third)] == [1, 1, 1]
    assert reasons(second) == []


def test_a_worker_that_we_removed_ourselves_is_no_disruption() -> None:
    this = job(minReplicas=1, maxReplicas=3, worker={"replicas": 2})
    plan = reconcile(this, seen(pod(0), pod(1), pod(2)), NOW)
    assert deleted(plan) == ["digits-worker-2"]
    ended = seen(pod(0), pod(1), pod(2, "Failed", exit_code=143, deleting=True), status=plan.status)
    assert reconcile(this, ended, after(1)).status.restarts.disruptions == 0


def test_a_worker_killed_at_its_start_is_replaced_after_a_breath() -> None:
    young = seen(pod(0, "Failed", exit_code=137, created_at=NOW))
    found = find_disruptions(job(), young, NOW)
    assert found.removals == ()
    assert found.look_again == after(5)
    assert len(find_disruptions(job(), young, after(5)).removals) == 1


@pytest.mark.acceptance(18)
@pytest.mark.parametrize(
    ("nodes", "seconds", "forced"),
    [
        pytest.param((node("node-2"),), 31, True, id="node-deleted"),
        pytest.param((node("node-1", ready=False),), 31, True, id="node-not-ready"),
        pytest.param((node("node-1", ready=False),), 29, False, id="not-before-its-time"),
        pytest.param((node("node-1"),), 999, False, id="a-living-node-gets-its-time"),
        pytest.param((), 999, False, id="nobody-may-list-nodes"),
    ],
)
def test_a_pod_stuck_on_a_lost_node_is_forced_out(
    nodes: tuple[Any, ...], seconds: int, forced: bool
) -> None:
    stuck = seen(pod(0, deleting=True, delete_by=NOW), nodes=nodes)
    removals = find_disruptions(job(), stuck, after(seconds)).removals
    assert [r.grace_seconds for r in removals] == ([0] if forced else [])


@pytest.mark.acceptance(18)
@pytest.mark.parametrize(
    ("nodes", "pod_is", "given_up"),
    [
        pytest.param((node("node-1", **SILENT),), {}, True, id="silent"),
        pytest.param((node("node-1", ready=False),), {}, False, id="a-kubelet-that-says-no-lives"),
        pytest.param((node("node-1"),), {}, False, id="ready"),
        pytest.param((node("node-2", **SILENT),), {}, False, id="another-node"),
        pytest.param((node("node-1", **SILENT),), {"deleting": True}, True, id="drained-before"),
        pytest.param((node("node-1", **SILENT),), {"node": None}, False, id="not-scheduled"),
        pytest.param((node("node-1", **SILENT),), {"phase": "Succeeded"}, False, id="over"),
    ],
)
def test_a_worker_on_a_silent_node_is_given_up_after_the_configured_wait(
    nodes: tuple[Any, ...], pod_is: dict[str, Any], given_up: bool
) -> None:
    observed = seen(pod(0, **pod_is), nodes=nodes, node_lost_seconds=20)
    assert find_disruptions(job(), observed, after(19)).removals == ()
    found = find_disruptions(job(), observed, after(20)).removals
    assert [(r.uid, r.grace_seconds) for r in found] == ([("uid-0", 0)] if given_up else [])


def test_a_worker_that_is_given_up_counts_as_a_disruption_and_is_looked_at_in_time() -> None:
    observed = seen(pod(0), pod(1), pod(2, node="node-2"), nodes=(node("node-1", **SILENT),))
    before = find_disruptions(job(), observed, NOW)
    assert (before.fresh, before.look_again) == ((), after(observed.node_lost_seconds))
    plan = reconcile(job(), observed, after(observed.node_lost_seconds))
    assert deleted(plan) == ["digits-worker-0", "digits-worker-1"]
    assert plan.status.restarts.disruptions == 2


def test_counted_pods_are_forgotten_when_they_are_gone() -> None:
    status = JobStatus(counted_pods=("uid-9",))
    assert reconcile(job(), seen(pod(0), status=status), NOW).status.counted_pods == ()


@pytest.mark.acceptance(14)
def test_a_job_may_name_further_codes_of_the_platform() -> None:
    this = job(disruptionExitCodes=[200])
    assert is_disrupted(this, pod(0, "Failed", exit_code=200))
    assert is_disrupted(this, pod(0, "Failed", exit_code=137))
    assert not is_disrupted(this, pod(0, "Failed", exit_code=201))


LOST = pod(0, "Failed", exit_code=137)


def fell(index: int, seconds: float, **changes: Any) -> Any:
    return pod(index, "Failed", exit_code=1, ended_at=after(seconds), **changes)


@pytest.mark.acceptance(15)
@pytest.mark.parametrize(
    ("peer", "spec", "failures"),
    [
        pytest.param(fell(1, 5), OWN_WAY, 0, id="right-after"),
        pytest.param(fell(1, 61), OWN_WAY, 1, id="much-later"),
        pytest.param(fell(1, -5), OWN_WAY, 0, id="clocks-differ"),
        pytest.param(fell(1, -60), OWN_WAY, 1, id="long-before"),
        pytest.param(fell(1, 5, created_at=after(1)), OWN_WAY, 1, id="a-newcomer"),
        pytest.param(fell(1, 5, reason="OOMKilled"), OWN_WAY, 1, id="out-of-memory"),
        pytest.param(fell(1, 5), {}, 1, id="under-the-coordinator-survivors-go-on"),
    ],
)
def test_who_falls_with_a_worker_that_was_taken_away_uses_up_no_failure(
    peer: Any, spec: dict[str, Any], failures: int
) -> None:
    this = job(**spec)
    first = reconcile(this, seen(LOST, pod(1), pod(2)), NOW)
    assert first.status.last_disruption is not None
    assert first.status.last_disruption.reason == "exit code 137"
    second = reconcile(this, seen(peer, pod(2), status=first.status), after(62))
    assert second.status.restarts.failures == failures
    assert second.status.restarts.disruptions == 2 - failures


@pytest.mark.acceptance(15)
def test_a_worker_and_its_peers_may_be_seen_to_fall_at_once() -> None:
    plan = reconcile(job(**OWN_WAY), seen(LOST, fell(1, 0), fell(2, 1)), NOW)
    assert (plan.status.restarts.failures, plan.status.restarts.disruptions) == (0, 3)
    assert len(deleted(plan)) == 3
