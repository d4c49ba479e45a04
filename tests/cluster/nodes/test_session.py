"""A researcher's whole session, typed in a terminal; docs/session.md has it as it was recorded."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
import yaml

from spotrain import contract
from spotrain.cli.job_view import JobView, view
from spotrain.controller.status import RUNNING, SUSPENDED
from spotrain.kinds import CONFIG_MAPS, DEPLOYMENTS, JOBS, PODS, Object
from spotrain.local.kubelet import Kubelet, NodeSpec
from tests.cli.terminal import terminal
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import Person
from tests.cluster.conftest import controller_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.archive_pod import ArchivePod
from tests.cluster.nodes.conftest import COORDINATORS, new_place, running_kubelet
from tests.cluster.nodes.session import (
    JOB,
    PAGE,
    STEPS,
    WRITE,
    Recorded,
    Step,
    page,
    read_page,
    shape,
)
from tests.cluster.nodes.training import CLAIM, EXAMPLES, HANG_SECONDS
from tests.cluster.researchers import IMAGE, admit_researchers
from tests.cluster.server import RESEARCHER_TOKEN

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
LOOK_SECONDS = 0.2
_LABELS = {"app": contract.CONTROLLER_NAME}
CONTROLLER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": contract.CONTROLLER_NAME, "namespace": contract.SYSTEM_NAMESPACE},
    "spec": {
        "selector": {"matchLabels": _LABELS},
        "template": {
            "metadata": {"labels": _LABELS},
            "spec": {"containers": [{"name": "controller", "image": "any"}]},
        },
    },
}
"""As the stack says it; its process is one of the test's."""


def _trains(seen: JobView) -> bool:
    """All that `status` can say of it is known."""
    return seen.status.workers.ready == 2 and seen.steps_per_second is not None


def _has_world(seen: JobView) -> bool:
    return seen.state == RUNNING and seen.worlds[-1].ended_at is None


STATES: Mapping[str, Callable[[JobView], bool]] = {
    "": lambda _: True,
    "trains": _trains,
    "is-smaller": lambda seen: _has_world(seen) and seen.worlds[-1].size == 1,
    "has-stopped": lambda seen: seen.state == SUSPENDED,
    "goes-on": _has_world,
}


@dataclass
class Desk:
    """Where the researcher sits."""

    place: Namespace
    person: Person
    folder: Path

    async def play(self, step: Step) -> Recorded:
        await self._until(step.once)
        if step.before:
            subprocess.run(["bash", "-c", step.before], cwd=self.folder, check=True)
            self.folder /= JOB
        command = f"spotrain {step.words}"
        code, answer = await asyncio.to_thread(self._type, step.words.split())
        assert code == 0, f"{command} ends with {code}:\n{answer}"
        return Recorded(command, answer)

    def _type(self, words: list[str]) -> tuple[int, str]:
        environment = self.person.environment()
        with terminal(*words, folder=self.folder, environment=environment, columns=80) as shown:
            code = shown.read_to_end()
            return code, shown.text

    async def _until(self, state: str) -> None:
        if not state:
            return
        async with asyncio.timeout(HANG_SECONDS):
            while not STATES[state](view(await self.place.kube.get(JOBS, self.place.name, JOB))):
                await asyncio.sleep(LOOK_SECONDS)


@pytest.fixture
async def desk(
    plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    """A platform whose nodes come when pods wait for them."""
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))  # the archive is asked from here
    async with AsyncExitStack() as stack:
        kube = plane.server.kube(await stack.enter_async_context(plane.server.client()))
        place = await new_place(plane, kube)
        kubelet = await stack.enter_async_context(
            running_kubelet(
                kube,
                tmp_path,
                plane.server.kubelet_client,
                claims={CLAIM: tmp_path / "kubelet" / "shared"},
                environment={"OMP_NUM_THREADS": "1"},
            )
        )
        await place.claim(CLAIM)
        pools = yaml.safe_load((EXAMPLES / "pools.yaml").read_text())
        pools["data"][contract.TRAINING_IMAGE_KEY] = IMAGE
        await kube.apply(CONFIG_MAPS, contract.SYSTEM_NAMESPACE, pools)
        stack.push_async_callback(
            remove, kube, CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP
        )
        controller = await stack.enter_async_context(controller_for(place))
        controller.address, controller.port = COORDINATORS[0], contract.COORDINATOR_PORT
        await kube.apply(DEPLOYMENTS, contract.SYSTEM_NAMESPACE, CONTROLLER)
        stack.push_async_callback(
            remove, kube, DEPLOYMENTS, contract.SYSTEM_NAMESPACE, contract.CONTROLLER_NAME
        )
        status = {"status": {"replicas": 1, "readyReplicas": 1}}
        await kube.patch(
            DEPLOYMENTS,
            contract.SYSTEM_NAMESPACE,
            contract.CONTROLLER_NAME,
            status,
            subresource="status",
        )
        await controller.start()
        await kubelet.add(NodeSpec(name=f"{place.name}-managers"))
        await ArchivePod(place, kubelet).start()
        await admit_researchers(place)  # now nobody else may have the archive's name
        await controller.until_serving()
        kubeconfig = place.server.kubeconfig(f"researcher-{place.name}", RESEARCHER_TOKEN)
        scaling = asyncio.create_task(order_nodes(place, kubelet))
        stack.callback(scaling.cancel)
        yield Desk(place, Person(kubeconfig, place.name, tmp_path), tmp_path)


async def order_nodes(place: Namespace, kubelet: Kubelet) -> None:
    """A node for each pod for which the scheduler finds none, as an autoscaler orders them; one
    more where another pod was quicker to take it."""
    ordered: dict[str, str] = {}
    names = (f"{place.name}-{number}" for number in count(1))
    while True:
        pods, _ = await place.kube.list_all(PODS, place.name)
        takers = {pod["spec"].get("nodeName"): pod["metadata"]["uid"] for pod in pods}
        for pod in pods:
            uid = pod["metadata"]["uid"]
            is_served = uid in ordered and takers.get(ordered[uid], uid) == uid
            if is_unschedulable(pod) and not is_served:
                ordered[uid] = next(names)
                await kubelet.add(node_for(pod, ordered[uid]))
        await asyncio.sleep(LOOK_SECONDS)


def is_unschedulable(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one.get("reason") == "Unschedulable" for one in conditions)


def node_for(pod: Object, name: str) -> NodeSpec:
    taint = {"key": contract.GPU_TAINT_KEY, "value": contract.GPU_TAINT_VALUE}
    return NodeSpec(
        name=name,
        labels={
            **pod["spec"]["nodeSelector"],
            contract.LABEL_ROLE: contract.ROLE_WORKER,
            contract.LABEL_GPU: "t4",
            contract.LABEL_CAPACITY: contract.CAPACITY_SPOT,
            contract.LABEL_INSTANCE_TYPE: "g4dn.xlarge",
        },
        taints=[{**taint, "effect": contract.GPU_TAINT_EFFECT}],
        capacity={contract.GPU_RESOURCE: "1"},
    )


async def test_a_session_is_answered_as_the_page_has_it(desk: Desk) -> None:
    recorded = [await desk.play(step) for step in STEPS]
    if os.environ.get(WRITE):
        PAGE.write_text(page(recorded))
        return
    known = read_page()
    assert [told.command for told in known] == [told.command for told in recorded], "make session"
    for before, now in zip(known, recorded, strict=True):
        assert shape(now) == shape(before), f"{now.command} has changed; next: make session"
