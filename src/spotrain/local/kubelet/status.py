"""A pod's status from the state of its containers: the rules of the real kubelet. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from spotrain.local.kubelet.states import Container, Ended, PodState, Running, Waiting

Document = dict[str, Any]
OURS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
"""Conditions that the kubelet writes; the scheduler's and the evictors' are theirs."""


def phase(pod: PodState) -> str:
    """Pending, Running, Succeeded or Failed."""
    if pod.reason:
        return "Failed"
    if not _is_initialized(pod):
        failed = any(isinstance(one.state, Ended) and one.state.exit_code for one in pod.init)
        return "Failed" if failed and pod.restart_policy == "Never" else "Pending"
    if any(isinstance(one.state, Running) for one in pod.main):
        return "Running"
    ends = [_end(one) for one in pod.main]
    if any(end is None for end in ends):
        return "Pending"  # one has never run
    if pod.restart_policy == "Always":
        return "Running"  # it is about to start again
    if all(end is not None and end.exit_code == 0 for end in ends):
        return "Succeeded"
    return "Failed" if pod.restart_policy == "Never" else "Running"


def build_status(
    pod: PodState, previous: Sequence[Mapping[str, Any]], now: datetime, *, over: bool = False
) -> Document:
    """What to write over the pod's status. `previous`: its conditions as stored.

    `over`: no container will start again, whatever the restart policy says: the pod is deleted.
    """
    found = phase(pod)
    if over and found in ("Pending", "Running"):
        succeeded = all((end := _end(one)) and end.exit_code == 0 for one in pod.main)
        found = "Succeeded" if succeeded else "Failed"
    document: Document = {
        "phase": found,
        "hostIP": pod.host_ip,
        "hostIPs": [{"ip": pod.host_ip}],
        "podIP": pod.ip,
        "podIPs": [{"ip": pod.ip}],
        "startTime": moment(pod.started_at),
        "conditions": _conditions(pod, found, previous, now),
        "containerStatuses": [_container(one) for one in pod.main],
    }
    if pod.init:
        document["initContainerStatuses"] = [_container(one) for one in pod.init]
    if pod.reason:
        document |= {"reason": pod.reason, "message": pod.message}
    return document


def _conditions(
    pod: PodState, found: str, previous: Iterable[Mapping[str, Any]], now: datetime
) -> list[Document]:
    """A transition time changes only with the condition itself."""
    before = {condition["type"]: condition for condition in previous}
    running = found == "Running" and all(isinstance(one.state, Running) for one in pod.main)
    initialized = _is_initialized(pod) or found == "Succeeded"
    over = found in ("Succeeded", "Failed")
    holds = dict(zip(OURS, (not over, initialized, running, running), strict=True))
    conditions = []
    for kind, is_true in holds.items():
        status = "True" if is_true else "False"
        old = before.get(kind)
        since = old["lastTransitionTime"] if old and old["status"] == status else moment(now)
        condition = {"type": kind, "status": status, "lastTransitionTime": since}
        if not is_true:
            condition |= _why_not(pod, kind, found)
        conditions.append(condition)
    return conditions


def _why_not(pod: PodState, kind: str, found: str) -> dict[str, str]:
    if found == "Succeeded":
        return {"reason": "PodCompleted"}
    if found == "Failed":
        return {"reason": "PodFailed"}
    if kind == "Initialized":
        waits = [one.name for one in pod.init if not _has_succeeded(one)]
        what = f"containers with incomplete status: [{' '.join(waits)}]"
        return {"reason": "ContainersNotInitialized", "message": what}
    waits = [one.name for one in pod.main if not isinstance(one.state, Running)]
    what = f"containers with unready status: [{' '.join(waits)}]"
    return {"reason": "ContainersNotReady", "message": what}


def _container(one: Container) -> Document:
    running = isinstance(one.state, Running)
    document: Document = {
        "name": one.name,
        "image": one.image,
        "imageID": "",
        "ready": running or _has_succeeded(one),
        "started": running,
        "restartCount": one.restarts,
        "state": _state(one),
    }
    if one.last:
        document["lastState"] = {"terminated": _ended(one.last)}
    return document


def _state(one: Container) -> Document:
    match one.state:
        case Waiting(reason=reason, message=message):
            return {"waiting": {"reason": reason} | ({"message": message} if message else {})}
        case Running(started_at=started_at):
            return {"running": {"startedAt": moment(started_at)}}
        case Ended():
            return {"terminated": _ended(one.state)}


def _ended(end: Ended) -> Document:
    return {
        "exitCode": end.exit_code,
        "reason": end.why,
        "startedAt": moment(end.started_at),
        "finishedAt": moment(end.finished_at),
    } | ({"message": end.message} if end.message else {})


def _is_initialized(pod: PodState) -> bool:
    return all(_has_succeeded(one) for one in pod.init)


def _has_succeeded(one: Container) -> bool:
    return isinstance(one.state, Ended) and one.state.exit_code == 0


def _end(one: Container) -> Ended | None:
    """How it ended, now or before the start that it waits for."""
    return one.state if isinstance(one.state, Ended) else one.last


def moment(at: datetime) -> str:
    """As Kubernetes writes times: UTC, whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
