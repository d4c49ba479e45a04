"""(a) From a pod's deletion to the arrival of its replacement's create at the API server."""

import asyncio
import time
from datetime import datetime

from bench.controller.cluster import WORKERS, Bench
from spotrain.kinds import PODS, Object
from tests.cluster.cluster import Namespace

RECORD_SECONDS = 30.0


class Watcher:
    """The bare peer: a watch of the pods, which notes when it hears of each deletion."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._heard: dict[str, float] = {}
        self._pods: dict[str, Object] = {}
        self._changed = asyncio.Condition()

    async def follow(self) -> None:
        kube, name = self._namespace.kube, self._namespace.name
        items, version = await kube.list_all(PODS, name)
        self._pods = {pod["metadata"]["name"]: pod for pod in items}
        while True:
            async for event, pod in kube.watch(PODS, name, version, selector={}):
                now, version = time.time(), pod["metadata"]["resourceVersion"]
                async with self._changed:
                    if event == "DELETED":
                        self._heard[pod["metadata"]["uid"]] = now
                        self._pods.pop(pod["metadata"]["name"], None)
                    elif event != "BOOKMARK":
                        self._pods[pod["metadata"]["name"]] = pod
                    self._changed.notify_all()

    async def deleted_at(self, uid: str) -> float:
        async with self._changed:
            await self._changed.wait_for(lambda: uid in self._heard)
            return self._heard[uid]

    async def until_whole(self) -> list[Object]:
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._pods) == WORKERS)
            return list(self._pods.values())


async def measure(bench: Bench, trials: int) -> list[dict[str, float]]:
    """Milliseconds of each trial: `watcher` and `replacement`, both from the delete's sending."""
    namespace = await bench.namespace("latency")
    watcher, found = Watcher(namespace), []
    following = asyncio.create_task(watcher.follow())
    async with bench.controller(namespace) as controller:
        await controller.start()
        await controller.until_serving()
        await namespace.submit("digits", WORKERS, minReplicas=1)
        for trial in range(trials):
            pods = await watcher.until_whole()
            # The controller has said what it says of the last one; jobs are at rest mostly.
            await asyncio.sleep(0.3)
            pod, log = pods[trial % WORKERS], bench.audit_position()
            start = time.time()
            await namespace.delete_pod(pod)
            heard = await watcher.deleted_at(pod["metadata"]["uid"])
            await watcher.until_whole()
            created = await created_at(bench, log)
            found.append({"watcher": 1e3 * (heard - start), "replacement": 1e3 * (created - start)})
    following.cancel()
    await bench.clear(namespace)
    return found


async def created_at(bench: Bench, log: int) -> float:
    """When the API server received the one create since then: its record, this machine's clock.

    The record is written after the answer, so it has to be waited for.
    """
    async with asyncio.timeout(RECORD_SECONDS):
        while True:
            for entry in bench.audited(log):
                if (entry["verb"], entry["objectRef"]["resource"]) == ("create", "pods"):
                    return datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
            await asyncio.sleep(0.01)
