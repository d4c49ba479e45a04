"""Pods and nodes as the archive needs them: whose output to follow, what a node is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spotrain import contract
from spotrain.ledger.entries import NodeEntry, Place

Document = Mapping[str, Any]
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
JOB_PODS: Final = {"labelSelector": f"{contract.LABEL_GROUP}={contract.GROUP}"}
"""What a watch asks for."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A worker's container."""

    job: str
    job_uid: str
    worker: int
    pod: str
    pod_uid: str
    container: str
    restarts: int
    """Its runs before the present one."""
    has_output: bool
    """It runs, or has run."""
    is_over: bool
    """It will not run again."""


def read_pod(pod: Document) -> Source | None:
    """None: it is no worker of a job."""
    metadata = pod["metadata"]
    index = (metadata.get("labels") or {}).get(contract.LABEL_REPLICA_INDEX, "")
    owner = next(
        (one for one in metadata.get("ownerReferences") or () if one["kind"] == contract.KIND), None
    )
    if owner is None or not index.isdecimal():
        return None
    names = [container["name"] for container in pod["spec"]["containers"]]
    name = contract.WORKER_CONTAINER if contract.WORKER_CONTAINER in names else names[0]
    status = pod.get("status") or {}
    statuses = status.get("containerStatuses") or ()
    told: Document = next((one for one in statuses if one["name"] == name), {})
    state, restarts = told.get("state") or {}, told.get("restartCount", 0)
    return Source(
        job=owner["name"],
        job_uid=owner["uid"],
        worker=int(index),
        pod=metadata["name"],
        pod_uid=metadata["uid"],
        container=name,
        restarts=restarts,
        has_output="running" in state or "terminated" in state or restarts > 0,
        is_over=status.get("phase") in ("Succeeded", "Failed"),
    )


def read_node(node: Document) -> NodeEntry | None:
    """None: it is of no pool."""
    metadata, status = node["metadata"], node.get("status") or {}
    labels = metadata.get("labels") or {}
    if not (pool := labels.get(contract.LABEL_POOL)):
        return None
    gpus = str((status.get("capacity") or {}).get(contract.GPU_RESOURCE, "0"))
    return NodeEntry(
        name=metadata["name"],
        uid=metadata["uid"],
        place=Place(
            pool=pool,
            zone=labels.get(contract.LABEL_ZONE, ""),
            capacity=labels.get(contract.LABEL_CAPACITY, ""),
            instance_type=labels.get(INSTANCE_TYPE, ""),
        ),
        gpus=int(gpus) if gpus.isdecimal() else 0,
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
    )
