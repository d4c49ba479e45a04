"""(c) What the controller writes in a job's life."""

from collections import Counter

from bench.controller.cluster import WORKERS, Bench
from spotrain.kinds import Object

READY = [{"type": "Ready", "status": "True"}]


async def measure(bench: Bench) -> dict[str, int]:
    """A job of four: created, ready, one pod lost and replaced, finished. Verb and resource."""
    namespace = await bench.namespace("writes")
    log = bench.audit_position()
    async with bench.controller(namespace) as controller:
        await controller.start()
        await controller.until_serving()
        await namespace.submit("digits", WORKERS, minReplicas=1)
        pods = await namespace.until_pods(lambda found: len(found) == WORKERS)
        for pod in pods:
            await namespace.set_pod_status(pod, phase="Running", conditions=READY)
        await namespace.until_job(lambda job: ready(job) == WORKERS)
        lost = pods[0]["metadata"]["uid"]
        await namespace.delete_pod(pods[0])

        def is_replaced(found: list[Object]) -> bool:
            return len(found) == WORKERS and lost not in {pod["metadata"]["uid"] for pod in found}

        for pod in await namespace.until_pods(is_replaced):
            if pod["metadata"]["name"] == pods[0]["metadata"]["name"]:
                await namespace.set_pod_status(pod, phase="Running", conditions=READY)
        await namespace.until_job(lambda job: ready(job) == WORKERS)
        await namespace.set_pod_status(pods[1], phase="Succeeded", conditions=[])
        await namespace.until_job(lambda job: "completionTime" in job["status"])
        await controller.stop()
    await bench.clear(namespace)
    return dict(Counter(filter(None, map(_write, bench.audited(log)))))


def ready(job: Object) -> int:
    statuses = (job.get("status") or {}).get("replicaStatuses") or {}
    return int(statuses.get("Worker", {}).get("ready", 0))


def _write(entry: Object) -> str:
    what = entry.get("objectRef") or {}
    resource = "/".join(filter(None, (what.get("resource"), what.get("subresource"))))
    if entry["verb"] in ("get", "list", "watch") or resource in ("leases", "secrets"):
        return ""  # the Lease and the certificate are the process's, not the job's
    return f"{entry['verb']} {resource}"
