"""Real training jobs: a real controller, a real scheduler, real torch ranks, made-up nodes."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import yaml

from spotrain import contract
from spotrain.controller.kube import CONFIG_MAPS, Object
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import ControllerProcess, Namespace
from tests.cluster.conftest import controller_for
from tests.cluster.nodes.conftest import COORDINATORS
from tests.cluster.nodes.training import EXAMPLES, Training

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]


@pytest.fixture
async def controllers(place: Namespace) -> AsyncIterator[list[ControllerProcess]]:
    """Two, not started yet, at the addresses that pods find behind the coordinator's name."""
    pools = yaml.safe_load((EXAMPLES / "pools.yaml").read_text())
    await place.kube.apply(CONFIG_MAPS, contract.SYSTEM_NAMESPACE, pools)
    async with AsyncExitStack() as stack:
        made = []
        for address in COORDINATORS:
            process = await stack.enter_async_context(controller_for(place))
            process.address, process.port = address, contract.COORDINATOR_PORT
            made.append(process)
        yield made


@pytest.fixture
async def training(place: Namespace, kubelet: Kubelet) -> AsyncIterator[Training]:
    made = Training(place, kubelet)
    yield made
    await made.show()


def uids(pods: dict[str, Object]) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def restarts(pods: dict[str, Object]) -> dict[str, int]:
    return {
        name: sum(one["restartCount"] for one in pod["status"]["containerStatuses"])
        for name, pod in pods.items()
    }


async def test_a_job_trains_to_its_end_through_all_that_can_happen_to_it(
    training: Training, controllers: list[ControllerProcess]
) -> None:
    first, second = controllers
    await first.start()
    await training.submit(replicas=2)
    await training.boot(2)
    world = await training.until_trains(size=2, after=0, told="two workers")

    # Growth: those who train stay where they are.
    before = await training.pods()
    await training.scale(3)
    await training.boot(1)
    world = await training.until_trains(size=3, after=world, told="grown to three")
    grown = await training.pods()
    assert uids(before).items() < uids(grown).items()
    assert set(restarts(grown).values()) == {0}

    # A drain: the world stops at a common step, saved, before the pod leaves.
    pod = grown["digits-worker-1"]
    await training.drain(pod)
    await training.boot(1)
    world = await training.until_trains(size=3, after=world, told="drained")
    assert uids(await training.pods())["digits-worker-1"] != pod["metadata"]["uid"]
    assert "notice" in training.log_of(pod)

    # A process dies: nobody else is touched.
    before = await training.pods()
    killed = min(before)
    os.kill(
        training.kubelet.pids(training.place.name, killed)[contract.WORKER_CONTAINER],
        signal.SIGKILL,
    )
    began = time.monotonic()
    await training.until_moved(5)
    training.tell(f"a worker killed: the others go on after {time.monotonic() - began:.1f} s")
    world = await training.until_trains(size=3, after=world, told="a worker killed")
    after = await training.pods()
    assert {name for name in before if uids(before)[name] != uids(after)[name]} == {killed}
    assert set(restarts(after).values()) == {0}

    # A node falls silent, with all that ran on it.
    lost = after["digits-worker-2"]
    training.kubelet.machines[lost["spec"]["nodeName"]].lose()
    await training.boot(1)
    world = await training.until_trains(size=3, after=world, told="a node lost")

    # The controller dies, and with it the coordinator: the world trains on, and is found again.
    await first.kill()
    await training.until_moved(50)
    await first.start()
    await first.until_serving()
    await training.until_moved(50)
    assert training.world == world

    # Another one takes over.
    await second.start()
    await second.until_logged("listening for agents")
    began = time.monotonic()
    await first.kill(wait_for_lease=True)
    await second.until_serving()
    training.tell(f"another coordinator leads after {time.monotonic() - began:.1f} s")
    await training.until_moved(50)
    assert training.world == world

    # It keeps the job as the first one did: gives the nodes back, takes them again, ends.
    await training.change({"suspend": True})
    await training.until_pods(lambda pods: not pods)
    assert training.audit().is_exact
    await training.end_after(training.epoch() + 2)
    ended = await training.until_condition("Succeeded")
    exactness = training.audit()
    training.tell(f"{exactness.epochs_checked} epochs, {training.world} worlds")
    assert (exactness.lost, exactness.repeated, exactness.problems) == (0, 0, ())
    assert ended["status"]["completionTime"]
