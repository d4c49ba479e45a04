"""From the API server's objects to what `reconcile` knows. Nothing behind here sees raw objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from spotrain import contract
from spotrain.controller.container_states import container_state, started_at
from spotrain.controller.model import (
    BudgetView,
    NodeView,
    PodView,
    StalledWorld,
    Taint,
    TrafficView,
    WorldView,
)
from spotrain.controller.outdated import MADE_OF_ANNOTATION
from spotrain.controller.status import JobStatus
from spotrain.controller.stored import read_status
from spotrain.coordinator.report import JobReport
from spotrain.job import ElasticJob, JobError, gpus_of, parse_job
from spotrain.kinds import Object
from spotrain.worlds import Reason

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
Phase = Literal["Pending", "Running", "Succeeded", "Failed"]
_PHASES: Final[Mapping[str, Phase]] = {
    "Pending": "Pending",
    "Running": "Running",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
    "Unknown": "Running",  # its node is silent; the node's own state decides what that means
}


@dataclass(frozen=True)
class SeenJob:
    """An ElasticJob at one version: as written, and as stored of its status."""

    namespace: str
    name: str
    uid: str
    version: str
    """resourceVersion, the precondition of every write that builds on this."""
    generation: int
    job: ElasticJob | JobError
    status: JobStatus
    since: datetime
    """When it was made."""
    stored: Mapping[str, Any]
    """The status' document, against which changes of it are computed."""

    @property
    def key(self) -> str:
        """As agents and coordinator name the job."""
        return f"{self.namespace}/{self.name}/{self.uid}"


@dataclass(frozen=True)
class SeenPod:
    namespace: str
    owner: str
    """Uid of the job that controls the pod."""
    job_name: str
    view: PodView


def view_job(document: Object) -> SeenJob | None:
    """None for a job that is being deleted: what is left of it is the garbage collector's."""
    metadata = document["metadata"]
    if metadata.get("deletionTimestamp"):
        return None
    job: ElasticJob | JobError
    try:
        job = parse_job({**document, "status": None})
    except JobError as error:
        job = error
    stored = document.get("status") or {}
    return SeenJob(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        generation=metadata.get("generation", 0),
        job=job,
        status=read_status(stored),
        since=_moment(metadata["creationTimestamp"]),
        stored=stored,
    )


def view_pod(document: Object) -> SeenPod | None:
    """None for a pod that no ElasticJob controls, or that has no place among its workers."""
    metadata = document["metadata"]
    owner = _controller(metadata)
    index = (metadata.get("labels") or {}).get(contract.LABEL_REPLICA_INDEX, "")
    if owner is None or not index.isdecimal():
        return None
    status = document.get("status") or {}
    ended = container_state(document["spec"], status, "terminated")
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled") or {}
    stuck = scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"
    deleted_at = metadata.get("deletionTimestamp")
    view = PodView(
        name=metadata["name"],
        uid=metadata["uid"],
        index=int(index),
        phase=_PHASES.get(status.get("phase", ""), "Pending"),
        node=document["spec"].get("nodeName"),
        ready=_is_true(conditions, "Ready"),
        deleting=deleted_at is not None,
        exit_code=ended.get("exitCode"),
        reason=status.get("reason") or ended.get("reason") or "",
        disrupted=_is_true(conditions, "DisruptionTarget"),
        message=ended.get("message") or status.get("message") or "",
        created_at=_moment(metadata["creationTimestamp"]),
        unschedulable=scheduled.get("message", "") if stuck else "",
        deletion_cost=_cost(metadata.get("annotations") or {}),
        delete_by=_moment(deleted_at) if deleted_at else None,
        ended_at=_moment(ended["finishedAt"]) if ended.get("finishedAt") else None,
        made_of=(metadata.get("annotations") or {}).get(MADE_OF_ANNOTATION, ""),
        place=(metadata.get("annotations") or {}).get(contract.OFFER_ANNOTATION, ""),
        scheduled_at=_since(scheduled) if scheduled.get("status") == "True" else None,
        waits_for=container_state(document["spec"], status, "waiting").get("reason", ""),
        started_at=started_at(document["spec"], status),
        gpus=sum(gpus_of(container) for container in document["spec"]["containers"]),
    )
    return SeenPod(metadata["namespace"], owner["uid"], owner["name"], view)


def view_node(document: Object) -> NodeView:
    """Every node counts, pools or not: a pod whose node is none of them has lost it."""
    metadata, status = document["metadata"], document.get("status") or {}
    labels = metadata.get("labels") or {}
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    return NodeView(
        name=metadata["name"],
        pool=labels.get(contract.LABEL_POOL, ""),
        zone=labels.get(contract.LABEL_ZONE, ""),
        ready=_is_true(conditions, "Ready"),
        cordoned=bool((document.get("spec") or {}).get("unschedulable")),
        taints=tuple(
            Taint(taint["key"], taint.get("value") or "", taint["effect"])
            for taint in (document.get("spec") or {}).get("taints") or ()
        ),
        silent_since=_silent_since(conditions.get("Ready") or {}),
        created_at=_moment(metadata["creationTimestamp"])
        if "creationTimestamp" in metadata
        else None,
        gpus=_whole((status.get("allocatable") or {}).get(contract.GPU_RESOURCE, "0")),
        capacity=labels.get(contract.LABEL_CAPACITY, ""),
        instance_type=labels.get(contract.LABEL_INSTANCE_TYPE, ""),
    )


def _silent_since(ready: Mapping[str, Any]) -> datetime | None:
    """The node controller sets Ready to Unknown when a kubelet gives no sign of life."""
    return _moment(ready["lastTransitionTime"]) if ready.get("status") == "Unknown" else None


@dataclass(frozen=True)
class SeenBudget:
    owner: str
    """Uid of the job that controls the PodDisruptionBudget."""
    view: BudgetView


def view_budget(document: Object) -> SeenBudget | None:
    """None for one that no ElasticJob controls, or that does not count pods."""
    owner = _controller(document["metadata"])
    least = (document.get("spec") or {}).get("minAvailable")
    if owner is None:
        return None
    view = BudgetView(document["metadata"]["uid"], least if isinstance(least, int) else 0)
    return SeenBudget(owner["uid"], view)


def view_world(report: JobReport, *, clock: float, now: datetime) -> WorldView:
    """The coordinator's report in the wall clock's time. `clock`: the coordinator's, now."""
    outcome: Literal["succeeded", "failed"] | None = None
    if report.outcome == "succeeded":
        outcome = "succeeded"
    elif report.outcome == "failed":
        outcome = "failed"
    return WorldView(
        number=report.number,
        size=report.size,
        phase=str(report.phase),
        since=now - timedelta(seconds=clock - report.since),
        step=report.step,
        outcome=outcome,
        message=report.message,
        restarts=report.restarts,
        stalled=_last_stall(report),
        awaits_first_step=report.awaits_first_step,
        chapters=report.history,
        clock_began=now - timedelta(seconds=clock),
        metrics=report.metrics,
        steps_left=report.steps_left,
        traffic={
            pod: TrafficView(
                each.read_bytes,
                each.written_bytes,
                at=now - timedelta(seconds=clock - each.told_at),
            )
            for pod, each in report.traffic.items()
        },
    )


def _last_stall(report: JobReport) -> StalledWorld | None:
    stalls = [world for world in report.history if world.reason is Reason.STALL]
    return StalledWorld(stalls[-1].number, stalls[-1].message) if stalls else None


def pods_of(seen: SeenJob, pods: Iterable[SeenPod]) -> tuple[PodView, ...]:
    """The pods that this very job controls; those of a namesake before it are not its own."""
    own = (pod.view for pod in pods if pod.namespace == seen.namespace and pod.owner == seen.uid)
    return tuple(sorted(own, key=lambda view: view.index))


def controls(seen_uid: str, document: Object) -> bool:
    """Is this object controlled by the owner of that uid?"""
    owner = _controller(document["metadata"])
    return owner is not None and owner["uid"] == seen_uid


def _controller(metadata: Mapping[str, Any]) -> Mapping[str, str] | None:
    for owner in metadata.get("ownerReferences") or ():
        is_job = owner["kind"] == contract.KIND
        if is_job and owner["apiVersion"].startswith(f"{contract.GROUP}/"):
            return owner if owner.get("controller") else None
    return None


def _is_true(conditions: Mapping[str, Mapping[str, Any]], kind: str) -> bool:
    return conditions.get(kind, {}).get("status") == "True"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _since(condition: Mapping[str, Any]) -> datetime | None:
    moment = condition.get("lastTransitionTime")
    return _moment(moment) if moment else None


def _whole(quantity: str) -> int:
    return int(quantity) if quantity.isdecimal() else 0


def _cost(annotations: Mapping[str, str]) -> int:
    try:
        return int(annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0  # the API server does not check annotations
