"""`spotrain drill` on a real API server: whom it refuses, and that it leaves nothing half done.

Nobody acts on the job and nothing runs its pods.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract, kinds
from spotrain.job import worker_name
from spotrain.kinds import NODES, PODS, Kind, Object
from tests.cluster.cluster import Namespace, remove, until
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.researchers import admit_researchers
from tests.cluster.server import ADMIN_TOKEN, RESEARCHER_TOKEN

pytestmark = pytest.mark.cluster

SIZE = 2


@dataclass
class Scene:
    """A job whose status says that it trains, with its pods on one node."""

    namespace: Namespace
    node: str
    researcher: Person
    administrator: Person

    async def objects(self) -> dict[str, str]:
        """All that a drill could change -> its version."""
        pods, _ = await self.namespace.kube.list_all(PODS, self.namespace.name)
        found = [*pods, await self.namespace.kube.get(NODES, "", self.node)]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in found}

    async def is_cordoned(self) -> bool:
        node = await self.namespace.kube.get(NODES, "", self.node)
        return bool(node["spec"].get("unschedulable"))


@pytest.fixture
async def scene(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Scene]:
    await admit_researchers(namespace)
    kube, node = namespace.kube, f"{namespace.name}-node"
    await kube.create(NODES, "", {"metadata": {"name": node}})
    await namespace.submit("waits", SIZE)
    await namespace.submit("digits", SIZE)
    for index in range(SIZE):
        made = await kube.create(PODS, namespace.name, pod(index))
        await bind(namespace, made, node)
        await namespace.set_pod_status(made, phase="Running")
    await kube.patch(
        kinds.JOBS, namespace.name, "digits", {"status": trains()}, subresource="status"
    )
    people = (
        Person(namespace.server.kubeconfig(name, token), namespace.name, tmp_path)
        for name, token in ((f"{node}-ada", RESEARCHER_TOKEN), (f"{node}-eve", ADMIN_TOKEN))
    )
    yield Scene(namespace, node, *people)
    await remove(kube, NODES, "", node)


async def bind(namespace: Namespace, pod: Object, node: str) -> None:
    """As the scheduler does."""
    name = pod["metadata"]["name"]
    bindings = Kind(f"/api/v1/namespaces/{namespace.name}/pods/{name}", "binding")
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    await namespace.kube.create(bindings, "", body)


def pod(index: int) -> Object:
    labels = {contract.LABEL_JOB: "digits", contract.LABEL_REPLICA_INDEX: str(index)}
    container = {"name": contract.WORKER_CONTAINER, "image": "none"}
    return {
        "metadata": {"name": worker_name("digits", index), "labels": labels},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 90},
    }


def trains() -> dict[str, Any]:
    world = {"kind": "world", "number": 1, "size": SIZE, "publishedAt": "2026-01-01T00:00:00Z"}
    steps = {"firstStepAt": "2026-01-01T00:00:01Z", "restoredStep": 0, "lastStep": 9}
    return {
        "state": "Running",
        "replicaStatuses": {contract.WORKER: {"active": SIZE, "ready": SIZE}},
        "history": [{**world, **steps}],
    }


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param("digit", 4, "Did you mean digits?", id="unknown-job"),
        pytest.param("waits", 5, "spotrain explain waits", id="does-not-train"),
        pytest.param("digits --worker 7", 4, "there are 0, 1", id="unknown-worker"),
        pytest.param("digits --kind notice,node", 3, "administrator", id="no-right-to-nodes"),
        pytest.param("digits --kind murder", 2, "notice, kill, node", id="unknown-kind"),
        pytest.param("digits --real", 2, "drillRole", id="no-role"),
        pytest.param(
            "digits --real --role arn:aws:iam::123456789012:role/drill",
            3,
            "no instance of EC2",
            id="no-node-of-aws",
        ),
        pytest.param("digits --real --kind notice,kill --role arn:x", 2, "notice", id="real-kill"),
    ],
)
async def test_what_cannot_be_drilled_is_told_in_one_line_and_nobody_is_interrupted(
    scene: Scene, words: str, code: int, says: str
) -> None:
    before = await scene.objects()
    refused = await scene.researcher.types("drill", *words.split())
    assert (refused.code, refused.out) == (code, ""), refused
    assert says in refused.err
    assert refused.err.startswith("spotrain: ")
    assert refused.err.count("\n") == 1
    assert await scene.objects() == before


async def test_a_machine_of_compute_engine_is_googles_to_take_back(scene: Scene) -> None:
    """No role is asked for, and whoever is not logged in there learns how."""
    provider_id = "gce://my-project/us-central1-a/gke-dev-t4-spot-a-1a2b3c4d-x1y2"
    kube = scene.namespace.kube
    await kube.patch(kinds.NODES, "", scene.node, {"spec": {"providerID": provider_id}})
    before = await scene.objects()
    login = scene.researcher.folder / ".config" / "gcloud" / "application_default_credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")  # one that has lost its content; without any, the network is asked
    refused = await scene.researcher.types("drill", "digits", "--real")
    assert (refused.code, refused.out) == (3, ""), refused
    assert "gcloud auth application-default login" in refused.err
    assert await scene.objects() == before


async def test_a_dry_run_tells_every_request_and_sends_none(scene: Scene) -> None:
    before = await scene.objects()
    told = await scene.administrator.types(
        "drill", "digits", "--kind", "notice,kill,node", "--worker", "0", "--dry-run", "-o", "yaml"
    )
    assert told.code == 0, told.err
    plan = told.document
    assert isinstance(plan, list)
    sent = [[f"{c['method']} {c['path']}" for c in one["sends"] + one["undoes"]] for one in plan]
    pods = f"/api/v1/namespaces/{scene.namespace.name}/pods/digits-worker-"
    assert sent == [
        [f"POST {pods}0/eviction"],
        [f"DELETE {pods}0"],
        [
            f"PATCH /api/v1/nodes/{scene.node}",
            f"POST {pods}0/eviction",
            f"POST {pods}1/eviction",
            f"PATCH /api/v1/nodes/{scene.node}",
        ],
    ]
    assert await scene.objects() == before


async def test_a_job_that_does_not_come_back_has_failed_the_drill(scene: Scene) -> None:
    failed = await scene.researcher.types(
        "drill", "digits", "--kind", "kill,notice", "--timeout", "1", "-o", "json"
    )
    assert failed.code == 1, failed
    found = failed.document
    assert isinstance(found, dict)
    assert [drill["kind"] for drill in found["drills"]] == ["kill"]
    assert found["drills"][0]["wholeSeconds"] is None
    assert "FAILED" in failed.err
    pods, _ = await scene.namespace.kube.list_all(PODS, scene.namespace.name)
    assert [one["metadata"]["name"] for one in pods] == ["digits-worker-0"]


async def test_ctrl_c_opens_the_node_again(scene: Scene) -> None:
    process = await scene.administrator.starts("drill", "digits", "--kind", "node")
    async with asyncio.timeout(LIMIT_SECONDS):
        await until(scene.namespace.kube, PODS, scene.namespace.name, are_leaving)
        assert await scene.is_cordoned()
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert not await scene.is_cordoned()


def are_leaving(pods: list[Object]) -> bool:
    return all(pod["metadata"].get("deletionTimestamp") for pod in pods)


async def test_a_node_that_somebody_drains_is_left_to_them(scene: Scene) -> None:
    await scene.namespace.kube.patch(NODES, "", scene.node, {"spec": {"unschedulable": True}})
    before = await scene.objects()
    refused = await scene.administrator.types("drill", "digits", "--kind", "node")
    assert refused.code == 5
    assert "cordoned already" in refused.err
    assert await scene.objects() == before
