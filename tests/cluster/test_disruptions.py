"""What takes workers away, at a real API server: evictions, notices of nodes, and budgets."""

from typing import Any

import pytest

from spotrain import kinds
from spotrain.kinds import Kind, Object
from tests.cluster.cluster import ControllerProcess, Namespace, until
from tests.controller import shut_down

pytestmark = pytest.mark.cluster

READY = [{"type": "Ready", "status": "True"}]


async def boot(namespace: Namespace, name: str) -> None:
    """A node that is ready, for one test."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await namespace.kube.create(kinds.NODES, "", node)
    status = {"status": {"conditions": READY}}
    await namespace.kube.patch(kinds.NODES, "", name, status, subresource="status")


async def run_on(namespace: Namespace, pod: Object, node: str) -> None:
    """As the scheduler and the node's kubelet do."""
    name = pod["metadata"]["name"]
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    bindings = Kind(f"/api/v1/namespaces/{namespace.name}/pods/{name}", "binding")
    await namespace.kube.create(bindings, "", body)
    await namespace.set_pod_status(pod, phase="Running", conditions=READY)


async def train_on_two_nodes(namespace: Namespace, **spec: Any) -> list[Object]:
    """A job of two workers, each on a node of its own; in the order of their names."""
    await namespace.submit("digits", 2, **spec)
    pods = await namespace.until_pods(lambda found: len(found) == 2)
    pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
    for number, pod in enumerate(pods):
        await boot(namespace, f"{namespace.name}-node-{number}")
        await run_on(namespace, pod, f"{namespace.name}-node-{number}")
    await namespace.until_job(lambda job: (job.get("status") or {}).get("state") == "Running")
    return pods


def leaving(pods: list[Object]) -> set[str]:
    return {p["metadata"]["name"] for p in pods if "deletionTimestamp" in p["metadata"]}


def restarts(job: Object) -> tuple[int, int]:
    counted = job["status"]["restarts"]
    return counted["disruptions"], counted["failures"]


@pytest.mark.acceptance(17)
async def test_an_evicted_worker_is_replaced_and_counted_as_taken_away(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    pods = await train_on_two_nodes(namespace)

    await namespace.evict(pods[1]["metadata"]["name"])

    await namespace.until_job(lambda job: restarts(job) == (1, 0))
    await namespace.delete_pod(pods[1])  # as its kubelet does when the worker has left
    old = pods[1]["metadata"]["uid"]
    replaced = await namespace.until_pods(
        lambda found: len(found) == 2 and old not in {pod["metadata"]["uid"] for pod in found}
    )
    assert {pod["metadata"]["name"] for pod in replaced} == {p["metadata"]["name"] for p in pods}


@pytest.mark.parametrize("left", ["left-in-time", "came-too-late"])
async def test_a_pod_that_a_reclaimed_node_left_behind_is_replaced_and_removed(
    namespace: Namespace, controller: ControllerProcess, left: str
) -> None:
    """Its node still counts as ready: nothing but the kubelet's last word tells of its end."""
    await controller.start()
    pods = await train_on_two_nodes(namespace, backoffLimit=0)

    await namespace.set_pod_status(pods[1], **shut_down.ALL[left])

    old = pods[1]["metadata"]["uid"]
    replaced = await namespace.until_pods(
        lambda found: len(found) == 2 and old not in {pod["metadata"]["uid"] for pod in found}
    )
    assert {pod["metadata"]["name"] for pod in replaced} == {p["metadata"]["name"] for p in pods}
    await namespace.until_job(lambda job: restarts(job) == (1, 0))


@pytest.mark.acceptance(19)
async def test_a_nodes_notice_makes_exactly_its_workers_leave(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    await train_on_two_nodes(namespace)
    taint = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}

    await namespace.kube.patch(
        kinds.NODES, "", f"{namespace.name}-node-1", {"spec": {"taints": [taint]}}
    )

    told = await namespace.until_job(lambda job: restarts(job) == (1, 0))
    pods = await namespace.until_pods(lambda found: bool(leaving(found)))
    assert leaving(pods) == {"digits-worker-1"}
    assert told["status"]["lastDisruption"]["node"] == f"{namespace.name}-node-1"


@pytest.mark.acceptance(23)
async def test_a_budget_stands_while_the_job_trains(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    pods = await train_on_two_nodes(namespace, podDisruptionBudget=True)
    (budget,) = await until(namespace.kube, kinds.DISRUPTION_BUDGETS, namespace.name, bool)
    assert budget["spec"]["minAvailable"] == 2
    assert budget["metadata"]["ownerReferences"][0]["kind"] == "ElasticJob"

    await namespace.set_pod_status(pods[0], phase="Succeeded")

    await until(namespace.kube, kinds.DISRUPTION_BUDGETS, namespace.name, lambda found: not found)
