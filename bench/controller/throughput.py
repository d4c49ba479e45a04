"""(b) and (d): many jobs at once, until all their pods are created; memory when they are."""

import asyncio
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.controller.cluster import CONCURRENCY, WORKERS, Bench, as_created
from spotrain.kinds import NETWORK_POLICIES, PODS, Object
from tests.cluster.cluster import Namespace

LONGEST_SECONDS = 600.0


async def controller_round(bench: Bench, name: str, jobs: int) -> dict[str, float]:
    """Jobs are there before the controller: from its first request of work to the last create."""
    namespace = await bench.namespace(name)
    await _submit(namespace, jobs)
    log = bench.audit_position()
    async with bench.controller(namespace) as controller:
        await controller.start()
        await _until_created(bench, namespace, jobs * WORKERS)
        assert controller.process
        memory = peak_memory_mib(controller.process.pid)
    seconds = _span(bench.audited(log))
    await bench.clear(namespace)
    return {"jobs": jobs, "seconds": seconds, "jobs_per_s": jobs / seconds, "peak_mib": memory}


async def _submit(namespace: Namespace, jobs: int) -> None:
    left = iter(range(jobs))

    async def work() -> None:
        for number in left:
            await namespace.submit(f"job-{number}", WORKERS, minReplicas=1)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(work())


async def _until_created(bench: Bench, namespace: Namespace, pods: int) -> None:
    """Asked for now and then, by a request that costs next to nothing: a watch of two thousand pods
    would compete with what is measured. When it happened is in the audit log."""
    async with bench.server.client() as http, asyncio.timeout(LONGEST_SECONDS):
        while True:
            answer = await http.get(PODS.path(namespace.name), params={"limit": "1"})
            listed = answer.raise_for_status().json()
            if len(listed["items"]) + listed["metadata"].get("remainingItemCount", 0) == pods:
                return
            await asyncio.sleep(0.25)


def _span(entries: Any) -> float:
    """From the first write of work to the answer of the last pod's create, on the server's clock.

    The Lease and the certificate are no work; listing the jobs is, and comes just before.
    """
    first, last = float("inf"), float("-inf")
    for entry in entries:
        what = entry.get("objectRef") or {}
        if what.get("resource") in ("elasticjobs", "pods", "networkpolicies"):
            first = min(first, _moment(entry["requestReceivedTimestamp"]))
            if entry["verb"] == "create" and what["resource"] == "pods":
                last = max(last, _moment(entry["stageTimestamp"]))
    return last - first


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def peak_memory_mib(pid: int) -> float:
    """VmHWM: the most that it ever had resident."""
    text = Path(f"/proc/{pid}/status").read_text()
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", text)
    return int(kib) / 1024


async def samples(bench: Bench) -> list[Object]:
    """A pod and a network policy as the controller makes them, for the bare clients to repeat."""
    namespace = await bench.namespace("samples")
    async with bench.controller(namespace) as controller:
        await controller.start()
        await namespace.submit("digits", WORKERS, minReplicas=1)
        pods = await namespace.until_pods(lambda found: len(found) == WORKERS)
        policies, _ = await bench.admin.list_all(NETWORK_POLICIES, namespace.name)
    await bench.clear(namespace)
    return [
        {**pods[0], "kind": "Pod", "apiVersion": "v1"},
        {**policies[0], "kind": "NetworkPolicy", "apiVersion": "networking.k8s.io/v1"},
    ]


async def bare_round(
    bench: Bench, client: str, name: str, jobs: int, kept: list[Object]
) -> dict[str, float]:
    """The same objects in the same order of jobs: a network policy, then its pods."""
    namespace = await bench.namespace(name)
    seconds = await bench.create(client, name, list(_bodies(kept, name, jobs)))
    await _until_created(bench, namespace, jobs * WORKERS)
    await bench.clear(namespace)
    return {"jobs": jobs, "seconds": seconds, "jobs_per_s": jobs / seconds}


def _bodies(kept: list[Object], namespace: str, jobs: int) -> Iterator[Object]:
    pod, policy = kept
    for number in range(jobs):
        yield as_created(policy, f"job-{number}", namespace)
        for index in range(WORKERS):
            yield as_created(pod, f"job-{number}-worker-{index}", namespace)
