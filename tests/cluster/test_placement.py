"""Where jobs go on a real API server, and what two of them on one cluster are to each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from spotrain.controller.scale_ups import SOURCE
from spotrain.coordinator import protocol
from spotrain.kinds import Object
from tests.cluster.agents import Agent, key_of, play_all
from tests.cluster.cluster import ControllerProcess, Namespace, remove

pytestmark = pytest.mark.cluster

POOL: dict[str, Any] = {
    "name": "t4-spot",
    "gpu": "t4",
    "gpusPerNode": 1,
    "capacity": "spot",
    "zones": ["a", "b"],
    "maxNodes": 4,
    "noticeSeconds": 90,
    "spotUsdPerHour": 0.2,
    "onDemandUsdPerHour": 0.5,
}
DEMAND = {**POOL, "name": "t4-demand", "capacity": "on-demand", "zones": ["a"]}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/9 nodes are available",
}
READY = [{"type": "Ready", "status": "True"}]
ONE_GPU = {"limits": {contract.GPU_RESOURCE: "1"}}


@pytest.fixture
async def market(namespace: Namespace) -> AsyncIterator[Namespace]:
    """A namespace beside the platform's pools and prices. Zone b is the cheaper one today."""
    price = {
        "pool": "t4-spot",
        "zone": "b",
        "instanceType": "g4dn.xlarge",
        "spotUsdPerHour": 0.1,
        "at": datetime.now(UTC).isoformat(),
    }
    maps = {
        contract.POOLS_CONFIGMAP: {contract.POOLS_KEY: yaml.safe_dump([DEMAND, POOL])},
        contract.PRICES_CONFIGMAP: {contract.PRICES_KEY: yaml.safe_dump([price])},
    }
    for name, data in maps.items():
        metadata = {"name": name, "namespace": contract.SYSTEM_NAMESPACE}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        await namespace.kube.apply(kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, body)
    yield namespace
    for name in maps:
        await remove(namespace.kube, kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, name)


async def submit(namespace: Namespace, name: str, replicas: int, **spec: Any) -> Object:
    placed = {"placement": {"gpu": "t4"}, **spec}
    return await namespace.submit(name, replicas, resources=ONE_GPU, **placed)


def place(thing: Object) -> str:
    offer = thing.get("status", {}).get("offer") or {}
    return f"{offer.get('pool')}/{offer.get('zone')}"


def zones(pods: list[Object]) -> set[str]:
    return {pod["spec"]["nodeSelector"][contract.LABEL_ZONE] for pod in pods}


def of(job: str, pods: list[Object]) -> list[Object]:
    return [pod for pod in pods if pod["metadata"]["labels"][contract.LABEL_JOB] == job]


async def said_by_autoscaler(namespace: Namespace, pod: Object, reason: str, message: str) -> None:
    """As cluster-autoscaler's recorder writes it."""
    metadata = pod["metadata"]
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{metadata['name']}.", "namespace": namespace.name},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace.name,
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "reason": reason,
        "message": message,
        "source": {"component": SOURCE},
        "type": "Normal",
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
    await namespace.kube.create(kinds.EVENTS, namespace.name, body)


@pytest.mark.acceptance(32)
async def test_all_workers_of_a_job_are_pinned_to_the_cheapest_zone_of_today(
    market: Namespace, controller: ControllerProcess
) -> None:
    await submit(market, "digits", 3)
    await controller.start()
    pods = await market.until_pods(lambda found: len(found) == 3)
    assert zones(pods) == {"b"}
    assert {pod["spec"]["nodeSelector"][contract.LABEL_POOL] for pod in pods} == {"t4-spot"}


async def test_a_job_moves_on_when_the_autoscaler_finds_no_node_and_remembers_why(
    market: Namespace, controller: ControllerProcess
) -> None:
    await submit(market, "digits", 2)
    await controller.start()
    pods = await market.until_pods(lambda found: len(found) == 2)
    for pod in pods:
        await market.set_pod_status(pod, phase="Pending", conditions=[UNSCHEDULABLE])
    waits = await market.until_job(lambda job: "waitingSince" in job["status"].get("offer", {}))
    assert place(waits) == "t4-spot/b"

    said = "pod didn't trigger scale-up: 1 in backoff after failed scale-up"
    await said_by_autoscaler(market, pods[0], "NotTriggerScaleUp", said)

    moved = await market.until_job(lambda job: place(job) == "t4-spot/a")
    (page,) = moved["status"]["offerHistory"]
    assert (page["zone"], page["reason"]) == ("b", "ScaleUpFailed")
    assert said in page["message"]
    old = {pod["metadata"]["uid"] for pod in pods}
    again = await market.until_pods(
        lambda found: len(found) == 2 and not old & {pod["metadata"]["uid"] for pod in found}
    )
    assert zones(again) == {"a"}

    await controller.kill()
    await controller.start()
    await controller.until_serving()
    for pod in again:
        await market.set_pod_status(pod, phase="Pending", conditions=[UNSCHEDULABLE])
    await said_by_autoscaler(market, again[0], "FailedScaleUp", "GCE out of resources")
    last = await market.until_job(lambda job: place(job) == "t4-demand/a")
    assert [page["zone"] for page in last["status"]["offerHistory"]] == ["a", "b"]


async def test_a_job_waits_without_pods_while_its_place_is_taken(
    market: Namespace, controller: ControllerProcess
) -> None:
    only = {"placement": {"pools": ["t4-demand"], "capacity": "onDemand"}}
    await submit(market, "first", 3, **only)
    await controller.start()
    await market.until_pods(lambda found: len(found) == 3)
    second = await submit(market, "second", 2, **only)
    name = second["metadata"]["name"]

    def is_told(job: Object) -> bool:
        found = job.get("status", {}).get("conditions", [])
        return job["metadata"]["name"] == name and any(
            c["type"] == "Running" and c["reason"] == "PlaceTaken" for c in found
        )

    await market.until_job(is_told)
    assert of("second", await market.until_pods(bool)) == []
    await remove(market.kube, kinds.JOBS, market.name, "first")
    for pod in of("first", await market.until_pods(bool)):  # as the garbage collector does
        await market.delete_pod(pod)
    await market.until_pods(lambda found: len(of("second", found)) == 2)


async def joined(
    stack: AsyncExitStack, market: Namespace, controller: ControllerProcess, job: Object
) -> list[Agent]:
    """An agent for each pod of the job, in its first world."""
    name = job["metadata"]["name"]
    pods = of(name, await market.until_pods(lambda found: len(of(name, found)) == 2))
    for pod in pods:
        await market.set_pod_status(pod, phase="Running", conditions=READY)
    agents = await play_all(stack, market, controller, key_of(job), pods)
    for each in agents:
        await each.say(protocol.Ready(port=12345))
    for each in agents:
        assert (await each.hear(protocol.NewWorld)).number == 1
    return agents


async def test_when_one_of_two_jobs_is_interrupted_the_others_world_does_not_change(
    market: Namespace, controller: ControllerProcess
) -> None:
    steady = await submit(market, "steady", 2)
    shaken = await submit(market, "shaken", 2, minReplicas=1)
    await controller.start()
    await controller.until_serving()
    async with AsyncExitStack() as stack:
        calm = await joined(stack, market, controller, steady)
        _, survivor = await joined(stack, market, controller, shaken)
        before = await market.until_job(world_of("steady", 1))
        await market.until_job(world_of("shaken", 1))
        await market.delete_pod(of("shaken", await market.until_pods(bool))[0])
        assert (await survivor.hear(protocol.Restart)).world == 1
        await survivor.say(protocol.Ready(port=12345, world=1))
        heard = [asyncio.create_task(each.hear(protocol.NewWorld)) for each in calm]
        assert (await survivor.hear(protocol.NewWorld)).number == 2
        await market.until_job(world_of("shaken", 2))
        assert not any(task.done() for task in heard)
        for task in heard:
            task.cancel()
    after = await market.until_job(world_of("steady", 1))
    assert after["status"]["world"] == before["status"]["world"]
    assert after["status"]["restarts"] == before["status"]["restarts"]


def world_of(name: str, number: int) -> Any:
    def holds(job: Object) -> bool:
        world = job.get("status", {}).get("world") or {}
        return job["metadata"]["name"] == name and world.get("number") == number

    return holds
