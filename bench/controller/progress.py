"""(e) What the controller writes of a job's progress, whose rank 0 tells it twice a second."""

import asyncio
import time
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

from bench.controller.cluster import WORKERS, Bench
from bench.controller.writes import READY
from spotrain.coordinator import protocol
from tests.cluster.agents import Agent, key_of, play_all

REPORTS_PER_SECOND = 2


async def measure(bench: Bench, seconds: float) -> dict[str, Any]:
    """`reports` that one job's agent of rank 0 sent in so many seconds, and when, in seconds from
    the first of them, the API server received each write of the job's status (`written_at`)."""
    namespace = await bench.namespace("progress")
    async with bench.controller(namespace) as controller, AsyncExitStack() as stack:
        await controller.start()
        await controller.until_serving()
        job = key_of(await namespace.submit("digits", WORKERS))
        pods = await namespace.until_pods(lambda found: len(found) == WORKERS)
        for pod in pods:
            await namespace.set_pod_status(pod, phase="Running", conditions=READY)
        agents = await play_all(stack, namespace, controller, job, pods)
        for agent in agents:
            await agent.say(protocol.Ready(port=1))
        (world, *_) = [await agent.hear(protocol.NewWorld) for agent in agents]
        await namespace.until_job(lambda job: "world" in (job.get("status") or {}))
        log, start = bench.audit_position(), time.time()
        reports = await report(agents[0], world.number, seconds)
        written = [at - start for at in status_writes(bench, log) if at > start]
    await bench.clear(namespace)
    return {"seconds": seconds, "reports": reports, "written_at": written}


async def report(agent: Agent, world: int, seconds: float) -> int:
    """How many times it told its step."""
    steps = int(seconds * REPORTS_PER_SECOND)
    start = asyncio.get_running_loop().time()
    for step in range(1, steps + 1):
        await agent.say(protocol.Progress(world=world, step=step, epoch=0, samples=step))
        due = start + step / REPORTS_PER_SECOND
        await asyncio.sleep(due - asyncio.get_running_loop().time())
    return steps


def status_writes(bench: Bench, log: int) -> list[float]:
    return [
        datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
        for entry in bench.audited(log)
        if entry["verb"] == "patch" and entry["objectRef"].get("subresource") == "status"
    ]
