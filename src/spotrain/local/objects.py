"""What an API server would tell of a made-up cluster: pods, nodes and events as objects.

Whoever explains a cluster's jobs from its objects explains those of this machine from these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from spotrain import contract
from spotrain.controller.plan import Event
from spotrain.controller.scale_ups import NOT_TRIGGERED, ORDERED, SOURCE
from spotrain.job import ElasticJob, worker_container
from spotrain.kinds import Object
from spotrain.local.cluster import Group, Node, Pod


@dataclass(frozen=True)
class Remark:
    """What autoscaler or controller has said of an object."""

    at: datetime
    kind: str
    name: str
    uid: str
    reason: str
    message: str
    source: str


def remark_of_job(job: ElasticJob, event: Event, at: datetime) -> Remark:
    return Remark(
        at=at,
        kind=contract.KIND,
        name=job.name,
        uid=job.uid,
        reason=event.reason,
        message=event.message,
        source=contract.CONTROLLER_NAME,
    )


def remark_of_pod(pod: Pod, group: Group | None, refusal: str) -> Remark:
    """What the autoscaler says of a pod that waits: where its node comes from, or why none does."""
    ordered = f"pod triggered scale-up: {group.pool.name}, {group.zone}" if group else ""
    return Remark(
        at=datetime.now(UTC),
        kind="Pod",
        name=pod.name,
        uid=pod.uid,
        reason=ORDERED if group else NOT_TRIGGERED,
        message=ordered or refusal,
        source=SOURCE,
    )


def job_object(job: ElasticJob, created_at: datetime, status: Object) -> Object:
    """As far as a ledger wants to know it."""
    metadata = {
        "name": job.name,
        "uid": job.uid,
        "labels": dict(job.labels),
        "creationTimestamp": created_at.isoformat(),
    }
    return {"metadata": metadata, "status": status}


def progress_object(
    before: Object, step: int, metrics: Mapping[str, float], now: datetime
) -> Object:
    """What the status would have, were it written at every step; `before` if there was none."""
    finite = {name: value for name, value in metrics.items() if isfinite(value)}
    if not finite or step == before.get("step"):
        return before
    return {"at": now.isoformat(), "step": step, "metrics": finite}


def pod_object(pod: Pod) -> Object:
    manifest = dict(pod.manifest)
    metadata = {
        **manifest["metadata"],
        "name": pod.name,
        "uid": pod.uid,
        "creationTimestamp": pod.created_at.isoformat(),
    }
    if pod.delete_by:
        metadata["deletionTimestamp"] = pod.delete_by.isoformat()
    spec = {**manifest["spec"], **({"nodeName": pod.node.name} if pod.node else {})}
    return {**manifest, "metadata": metadata, "spec": spec, "status": _pod_status(pod)}


def _pod_status(pod: Pod) -> Object:
    scheduled = _condition("PodScheduled", pod.node is not None, pod.scheduled_at)
    if pod.node is None:
        scheduled |= {"reason": "Unschedulable", "message": pod.view().unschedulable}
    conditions = [scheduled, _condition("Ready", pod.view().ready, pod.started_at)]
    if pod.disrupted:
        conditions.append(_condition("DisruptionTarget", True, pod.ended_at))
    spec = pod.manifest["spec"]
    container = spec["containers"][worker_container({"spec": spec})]
    state = {"name": container["name"], "state": _container_state(pod), "restartCount": 0}
    return {
        "phase": pod.phase,
        "conditions": conditions,
        "containerStatuses": [state] if pod.node else [],
    }


def _container_state(pod: Pod) -> Object:
    if pod.is_over:
        ended = {"exitCode": pod.exit_code, "reason": pod.reason, "message": pod.message}
        return {
            "terminated": {**ended, **_times(startedAt=pod.started_at, finishedAt=pod.ended_at)}
        }
    if pod.phase == "Running":
        return {"running": _times(startedAt=pod.started_at)}
    return {"waiting": {"reason": "ContainerCreating"}}


def node_object(node: Node) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "uid": node.uid,
            "labels": {**node.labels, contract.LABEL_INSTANCE_TYPE: node.instance_type},
            **_times(creationTimestamp=node.created_at),
        },
        "spec": {"unschedulable": True} if node.cordoned else {},
        "status": {
            "allocatable": {contract.GPU_RESOURCE: str(node.pool.gpus_per_node)},
            "conditions": [_condition("Ready", node.ended_at is None, node.created_at)],
        },
    }


def event_object(remark: Remark) -> Object:
    at = remark.at.isoformat()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"creationTimestamp": at},
        "involvedObject": {"kind": remark.kind, "name": remark.name, "uid": remark.uid},
        "reason": remark.reason,
        "message": remark.message,
        "source": {"component": remark.source},
        "lastTimestamp": at,
    }


def cluster_objects(
    pods: Iterable[Pod], nodes: Iterable[Node], remarks: Iterable[Remark]
) -> dict[str, list[Any]]:
    return {
        "pods": [pod_object(pod) for pod in pods],
        "nodes": [node_object(node) for node in nodes],
        "events": [event_object(remark) for remark in remarks],
    }


def _condition(kind: str, holds: bool, since: datetime | None) -> Object:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        **_times(lastTransitionTime=since),
    }


def _times(**moments: datetime | None) -> dict[str, str]:
    return {name: moment.isoformat() for name, moment in moments.items() if moment}
