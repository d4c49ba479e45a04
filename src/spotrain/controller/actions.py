"""The requests that carry out a plan. In which order they are made, the keeper knows."""

import contextlib
import hashlib
import logging
from collections import Counter
from datetime import datetime
from typing import Any

from spotrain import contract
from spotrain.controller.kube import Conflict, Kube, KubeError, NotFound
from spotrain.controller.model import (
    ApplyDisruptionBudget,
    ApplyNetworkPolicy,
    ApplyPodGroup,
    CreatePod,
    DeleteDisruptionBudget,
    DeleteJob,
    DeletePod,
    Event,
    JobStatus,
)
from spotrain.controller.observe import SeenJob, controls
from spotrain.controller.plan import Request
from spotrain.controller.stored import status_patch
from spotrain.kinds import (
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    NETWORK_POLICIES,
    POD_GROUPS,
    PODS,
    Kind,
    Object,
)

logger = logging.getLogger(__name__)

LONGEST_NOTE = 1024
"""Of an event, by the API server's rule."""


async def write_status(kube: Kube, seen: SeenJob, status: JobStatus) -> Object:
    """The job as stored now. Raises Conflict if it has changed since it was seen."""
    metadata = {"resourceVersion": seen.version, "uid": seen.uid}
    body = {"metadata": metadata, "status": status_patch(seen.stored, status)}
    return await kube.patch(JOBS, seen.namespace, seen.name, body, subresource="status")


async def carry_out(kube: Kube, seen: SeenJob, request: Request) -> None:
    """Done already is done. Raises Conflict where another object is in the way."""
    match request:
        case DeletePod(name=name, uid=uid, grace_seconds=grace_seconds, reason=reason):
            extra = {"job": seen.key, "pod": name}
            logger.info("%s: removing %s: %s", seen.key, name, reason, extra=extra)
            with contextlib.suppress(NotFound):
                await kube.delete(PODS, seen.namespace, name, uid=uid, grace_seconds=grace_seconds)
        case ApplyNetworkPolicy(manifest=manifest):
            await kube.apply(NETWORK_POLICIES, seen.namespace, manifest)
        case ApplyDisruptionBudget(manifest=manifest):
            await kube.apply(DISRUPTION_BUDGETS, seen.namespace, manifest)
        case ApplyPodGroup(api=api, manifest=manifest):
            await kube.apply(Kind(f"/apis/{api}", POD_GROUPS), seen.namespace, manifest)
        case DeleteDisruptionBudget(name=name, uid=uid):
            with contextlib.suppress(NotFound):
                await kube.delete(DISRUPTION_BUDGETS, seen.namespace, name, uid=uid)
        case DeleteJob():
            await kube.delete(JOBS, seen.namespace, seen.name, uid=seen.uid)


async def create_pod(kube: Kube, seen: SeenJob, action: CreatePod) -> Object:
    """The pod as stored. One of ours that is there already is as good."""
    try:
        created = await kube.create(PODS, seen.namespace, action.manifest)
        extra = {"job": seen.key, "pod": action.name}
        logger.info("%s: created %s", seen.key, action.name, extra=extra)
    except Conflict:
        there = await kube.get(PODS, seen.namespace, action.name)
        if not controls(seen.uid, there):
            raise
        return there
    return created


class Teller:
    """Events of one job. The same news again raises the count of the event that is there."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._told: Counter[str] = Counter()

    async def tell(self, seen: SeenJob, event: Event, now: datetime) -> None:
        """An event that cannot be stored is logged and forgotten: no work waits for it."""
        body = event_body(seen, event, now)
        name = body["metadata"]["name"]
        self._told[name] += 1
        try:
            await self._kube.create(EVENTS, seen.namespace, body)
        except Conflict:
            self._told[name] = max(self._told[name], 2)  # told before this process began
            again = {"count": self._told[name], "lastTimestamp": body["lastTimestamp"]}
            await self._kube.patch(EVENTS, seen.namespace, name, again)
        except KubeError as error:
            logger.warning(
                "%s: event %s is lost: %s", seen.key, event.reason, error, extra={"job": seen.key}
            )


def event_body(seen: SeenJob, event: Event, now: datetime) -> dict[str, Any]:
    """An event under a name that the same news of the same job has again."""
    news = "\0".join((seen.uid, event.type, event.reason, event.message))
    digest = hashlib.sha256(news.encode()).hexdigest()[:16]
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{seen.name}.{digest}", "namespace": seen.namespace},
        "involvedObject": {
            "apiVersion": contract.API_VERSION,
            "kind": contract.KIND,
            "namespace": seen.namespace,
            "name": seen.name,
            "uid": seen.uid,
            "resourceVersion": seen.version,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message[:LONGEST_NOTE],
        "source": {"component": contract.CONTROLLER_NAME},
        "reportingComponent": contract.CONTROLLER_NAME,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
