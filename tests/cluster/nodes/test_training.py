"""A real training job: a real controller, a real scheduler, real torch ranks, made-up nodes.

One job of three workers trains on and on; each test interrupts it in its own way and leaves it with
three workers again. The last one brings it to its end, and audits all that it has done.
"""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
import pytest_asyncio
import yaml

from spotrain import contract
from spotrain.kinds import CONFIG_MAPS, EVENTS, Object
from tests.cluster.cluster import ControllerProcess
from tests.cluster.conftest import controller_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes.conftest import COORDINATORS, new_place, running_kubelet
from tests.cluster.nodes.processes import connected_addresses, listening_addresses
from tests.cluster.nodes.training import EXAMPLES, Training
from tests.cluster.test_controller import condition

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
]
SIZE = 3


@dataclass
class Platform:
    """A job that trains, and the two controllers of which the first one runs it."""

    training: Training
    controllers: list[ControllerProcess]

    async def settled(self) -> int:
        """The world in which all three train."""
        return await self.training.until_trains(size=SIZE, after=0, told="as it was")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def platform(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Platform]:
    """A job of two workers that was made while there was no node for it, grown to three."""
    async with AsyncExitStack() as stack:
        kube = plane.server.kube(await stack.enter_async_context(plane.server.client()))
        place = await new_place(plane, kube)
        folder = tmp_path_factory.mktemp("training")
        kubelet = await stack.enter_async_context(running_kubelet(kube, folder))
        pools = yaml.safe_load((EXAMPLES / "pools.yaml").read_text())
        await kube.apply(CONFIG_MAPS, contract.SYSTEM_NAMESPACE, pools)
        controllers = []
        for address in COORDINATORS:  # which pods find behind the coordinator's name
            process = await stack.enter_async_context(controller_for(place))
            process.address, process.port = address, contract.COORDINATOR_PORT
            controllers.append(process)
        await controllers[0].start()
        training = Training(place, kubelet)
        await training.submit(replicas=SIZE)
        await training.boot(SIZE)
        await training.until_trains(size=SIZE, after=0, told="started")
        yield Platform(training, controllers)
        await training.show()


def uids(pods: dict[str, Object]) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def restarts(pods: dict[str, Object]) -> set[int]:
    """Of all containers, by the kubelet."""
    return {one["restartCount"] for p in pods.values() for one in p["status"]["containerStatuses"]}


@pytest.mark.acceptance(3)
async def test_workers_meet_at_the_address_of_one_of_their_pods(platform: Platform) -> None:
    """Without DNS: the world names its store's host by the pod's own address."""
    await platform.settled()
    pods = await platform.training.pods()
    addresses = {pod["status"]["podIP"] for pod in pods.values()}
    assert len(addresses) == SIZE
    assert addresses & listening_addresses() & connected_addresses()


@pytest.mark.acceptance(26)
async def test_a_job_shrinks_and_grows_around_those_who_train(platform: Platform) -> None:
    training, world = platform.training, await platform.settled()
    before = await training.pods()

    await training.scale(SIZE - 1)
    smaller = await training.until_trains(size=SIZE - 1, after=world, told="shrunk")
    await training.until_pods(lambda pods: len(pods) == SIZE - 1)
    left = uids(await training.pods())
    assert left.items() < uids(before).items()

    await training.scale(SIZE)
    await training.until_trains(size=SIZE, after=smaller, told="grown")
    grown = await training.pods()
    assert left.items() < uids(grown).items()
    assert restarts(grown) == {0}
    assert (await training.job())["status"]["restarts"].get("failures", 0) == 0


@pytest.mark.acceptance(20)
async def test_a_drained_worker_saves_before_it_leaves(platform: Platform) -> None:
    training, world = platform.training, await platform.settled()
    pods = await training.pods()
    name = training.pod_of_rank(1)

    await training.drain(pods[name])
    await training.boot(1)
    await training.until_trains(size=SIZE, after=world, told="drained")

    assert uids(await training.pods())[name] != pods[name]["metadata"]["uid"]
    # No step was done in vain.
    assert training.written.saved_step(world) == training.written.last_step(world)


@pytest.mark.acceptance(21)
async def test_the_others_go_on_when_rank_0_is_killed(platform: Platform) -> None:
    training, world = platform.training, await platform.settled()
    before = await training.pods()
    killed = training.pod_of_rank(0)
    agents = {name: training.agent(name) for name in before if name != killed}

    os.kill(training.agent(killed), signal.SIGKILL)
    began = time.monotonic()
    await training.until_moved(5)
    training.tell(f"rank 0 killed: the others go on after {time.monotonic() - began:.1f} s")
    await training.until_trains(size=SIZE, after=world, told="rank 0 killed")

    after = await training.pods()
    assert {name for name in before if uids(before)[name] != uids(after)[name]} == {killed}
    assert restarts(after) == {0}
    assert {name: training.agent(name) for name in agents} == agents


@pytest.mark.acceptance(18)
async def test_the_workers_of_a_lost_node_are_replaced(platform: Platform) -> None:
    training, world = platform.training, await platform.settled()
    lost = (await training.pods())[training.pod_of_rank(2)]

    training.kubelet.machines[lost["spec"]["nodeName"]].lose()
    began = time.monotonic()
    await training.boot(1)
    training.tell(f"a node lost: its worker is replaced after {time.monotonic() - began:.1f} s")
    await training.until_trains(size=SIZE, after=world, told="a node lost")


@pytest.mark.acceptance(18)
async def test_a_node_that_was_cut_off_and_returns_disturbs_nobody(platform: Platform) -> None:
    """Its worker lives on and is still connected, but its place is another's by then."""
    training, world = platform.training, await platform.settled()
    name = training.pod_of_rank(1)
    node = (await training.pods())[name]["spec"]["nodeName"]
    agent = training.agent(name)

    training.kubelet.machines[node].cut_off()
    await training.boot(1)
    world = await training.until_trains(size=SIZE, after=world, told="a node cut off")
    training.kubelet.restore(node)
    await training.until_gone(agent)

    await training.until_moved(20)
    assert training.world == world
    await training.kubelet.remove(node)


async def test_a_job_over_its_budget_saves_and_leaves_and_goes_on_when_it_may_cost_more(
    platform: Platform,
) -> None:
    training = platform.training
    thrifty = Training(training.place, training.kubelet, name="thrifty")
    await thrifty.submit(replicas=1)
    (node,) = await thrifty.boot(1)
    world = await thrifty.until_trains(size=1, after=0, told="a job without a budget")

    await thrifty.change({"budget": {"maxDollars": 1e-9}})
    held = await thrifty.until_condition("BudgetExceeded")
    await thrifty.until_pods(lambda pods: not pods)
    assert "--budget USD" in condition(held, "Suspended")["message"]
    assert thrifty.written.saved_step(world) == thrifty.written.last_step(world)
    found, _ = await training.place.kube.list_all(EVENTS, training.place.name)
    told = {event["reason"] for event in found if event["involvedObject"]["name"] == thrifty.name}
    assert "BudgetExceeded" in told

    await thrifty.change({"budget": {"maxDollars": 1000}})
    await thrifty.until_trains(size=1, after=world, told="a job with a larger budget")
    await thrifty.change({"suspend": True})
    await thrifty.until_pods(lambda pods: not pods)
    await training.kubelet.remove(node)


async def test_one_job_is_interrupted_and_the_others_world_does_not_change(
    platform: Platform,
) -> None:
    training, world = platform.training, await platform.settled()
    other = Training(training.place, training.kubelet, name="other")
    await other.submit(replicas=1)
    await other.boot(1)
    quiet = await other.until_trains(size=1, after=0, told="another job")
    pods = uids(await other.pods())

    os.kill(training.agent(training.pod_of_rank(1)), signal.SIGKILL)
    await training.until_trains(size=SIZE, after=world, told="a worker killed beside another job")

    await other.until_moved(20)
    assert other.world == quiet
    assert uids(await other.pods()) == pods
    await other.change({"suspend": True})
    await other.until_pods(lambda found: not found)
    assert other.written.audit().is_exact


@pytest.mark.acceptance(22)
async def test_training_goes_on_while_no_coordinator_lives(platform: Platform) -> None:
    """Upstream's store was a pod whose end was the end of the world; its successor holds nothing
    that a world needs."""
    training, world = platform.training, await platform.settled()
    first = platform.controllers[0]

    await first.kill()
    await training.until_moved(50)
    await first.start()
    await first.until_serving()
    await training.until_moved(50)

    assert training.world == world


@pytest.mark.acceptance(38)
async def test_training_goes_on_while_another_coordinator_takes_over(platform: Platform) -> None:
    training, world = platform.training, await platform.settled()
    first, second = platform.controllers
    await second.start()
    await second.until_logged("listening for agents")

    await first.kill(wait_for_lease=True)
    began = time.monotonic()
    await second.until_serving()
    training.tell(f"another coordinator leads after {time.monotonic() - began:.1f} s")
    await training.until_moved(50)

    assert training.world == world


async def test_in_the_end_no_sample_was_lost_or_repeated(platform: Platform) -> None:
    """The job is suspended, told to end two epochs later, and resumed."""
    training = platform.training
    await platform.settled()
    await training.change({"suspend": True})
    await training.until_pods(lambda pods: not pods)
    assert training.written.audit().is_exact

    await training.end_after(training.written.epoch() + 2)
    ended = await training.until_condition("Succeeded")

    assert ended["status"]["completionTime"]
    _check_ledger(ended)
    exactness = training.written.audit()
    training.tell(f"{exactness.epochs_checked} epochs, {training.world} worlds")
    assert (exactness.lost, exactness.repeated, exactness.problems) == (0, 0, ())


def _check_ledger(ended: Object) -> None:
    """What the job went through, two lost controllers among it, is told once and adds up."""
    status, ledger = ended["status"], ended["status"]["ledger"]
    numbers = [world["number"] for world in status["history"]]
    assert numbers == sorted(set(numbers))
    assert all("endedAt" in world for world in status["history"])
    assert {"notice", "finished"} <= {world["reason"] for world in status["history"]}
    totals, paused = ledger["totals"], timedelta()
    for pause in ledger["pauses"]:
        paused += _moment(pause["until"]) - _moment(pause["since"])
    created = _moment(ended["metadata"]["creationTimestamp"])
    lasted = _moment(status["completionTime"]) - created - paused
    assert totals["wantedSeconds"] == pytest.approx(lasted.total_seconds(), abs=0.01)
    lost = totals["lostSeconds"]
    together = totals["usefulSeconds"] + sum(lost.values())
    assert together == pytest.approx(totals["wantedSeconds"], abs=0.01)
    assert totals["usefulSeconds"] > 0
    assert lost["forming"] > 0
    assert {stay["place"]["pool"] for stay in ledger["stays"]} == {status["offer"]["pool"]}
    print(f"useful {totals['usefulSeconds']:.1f} s of {totals['wantedSeconds']:.1f} s; {lost}")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
