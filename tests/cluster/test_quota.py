"""A job that a quota keeps out says so, waits, and starts as soon as there is room."""

import pytest

from spotrain import kinds
from spotrain.kinds import Kind, Object
from tests.cluster.cluster import ControllerProcess, Namespace, until

pytestmark = pytest.mark.cluster

QUOTAS = Kind("/api/v1", "resourcequotas")


async def allow(namespace: Namespace, pods: int) -> None:
    """A quota of so many pods, with the count of them that the cluster would keep."""
    hard = {"pods": str(pods)}
    metadata = {"name": "room", "namespace": namespace.name}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    await namespace.kube.apply(QUOTAS, namespace.name, {**body, "spec": {"hard": hard}})
    found = await namespace.kube.get(QUOTAS, namespace.name, "room")
    used = found.get("status", {}).get("used") or {"pods": "0"}
    status = {"status": {"hard": hard, "used": used}}
    await namespace.kube.patch(QUOTAS, namespace.name, "room", status, subresource="status")


def conditions(job: Object) -> dict[str, str]:
    found = job.get("status", {}).get("conditions", [])
    return {condition["type"]: condition["status"] for condition in found}


def running(job: Object) -> Object:
    found = job.get("status", {}).get("conditions", [])
    return next((condition for condition in found if condition["type"] == "Running"), {})


def is_refused(job: Object) -> bool:
    return running(job).get("reason") == "QuotaExceeded"


def tells_of_quota(events: list[Object]) -> bool:
    return any(event["reason"] == "QuotaExceeded" for event in events)


async def test_a_job_that_a_quota_keeps_out_waits_and_starts_when_there_is_room(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await allow(namespace, pods=1)
    await namespace.submit("digits", 3)
    await controller.start()
    await namespace.until_pods(lambda found: len(found) == 1)
    job = await namespace.until_job(is_refused)
    assert (conditions(job)["Running"], "Failed" in conditions(job)) == ("False", False)
    assert "exceeded quota: room" in running(job)["message"]
    events = await until(namespace.kube, kinds.EVENTS, namespace.name, tells_of_quota)
    (event,) = [event for event in events if event["reason"] == "QuotaExceeded"]
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "digits")
    await allow(namespace, pods=3)
    await namespace.until_pods(lambda found: len(found) == 3)
    await namespace.until_job(lambda found: not is_refused(found))
