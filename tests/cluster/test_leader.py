"""Two controllers on one API server: one leads, the other takes over, and neither gets in the way.

Every controller is a process of its own with the rights of k8s/rbac.yaml.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import pytest

from spotrain import contract, kinds
from spotrain.controller.lease import NAME
from spotrain.coordinator import protocol
from spotrain.kinds import LEASES, Object
from tests.cluster.agents import Agent, key_of, play_all
from tests.cluster.cluster import ControllerProcess, Namespace, until
from tests.cluster.conftest import controller_for

pytestmark = pytest.mark.cluster


@pytest.fixture
async def replicas(namespace: Namespace) -> AsyncIterator[list[ControllerProcess]]:
    """The first one leads, the second one stands by."""
    async with AsyncExitStack() as stack:
        two = [await stack.enter_async_context(controller_for(namespace)) for _ in range(2)]
        for process in two:
            await process.start()
            if process is two[0]:
                await process.until_serving()
        await two[1].until_logged("listening for agents")
        yield two


async def holder(namespace: Namespace) -> str:
    lease = await namespace.kube.get(LEASES, contract.SYSTEM_NAMESPACE, NAME)
    return str(lease["spec"]["holderIdentity"])


async def until_held_by_another(namespace: Namespace, before: str) -> None:
    def is_held(leases: list[Object]) -> bool:
        held = [lease["spec"].get("holderIdentity") for lease in leases]
        return any(name and name != before for name in held)

    await until(namespace.kube, LEASES, contract.SYSTEM_NAMESPACE, is_held)


class Workers:
    """The agents of a job of two, as a test plays them."""

    def __init__(self, namespace: Namespace, job: Object, pods: list[Object]) -> None:
        self.namespace = namespace
        self.key = key_of(job)
        self.pods = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))

    async def meet(
        self,
        stack: AsyncExitStack,
        controller: ControllerProcess,
        world: protocol.NewWorld | None = None,
    ) -> list[Agent]:
        """Both say hello there; with `world`, as agents that train in it."""
        return await play_all(stack, self.namespace, controller, self.key, self.pods, world=world)

    async def go_on(
        self, stack: AsyncExitStack, controller: ControllerProcess, world: protocol.NewWorld
    ) -> Agent:
        """Both are welcome there in the world that they train in; the one of rank 0."""
        agents = await self.meet(stack, controller, world)
        for speaker in agents:
            await speaker.hear(protocol.Welcome)
        return agents[0]


async def commit(speaker: Agent, world: protocol.NewWorld, step: int) -> bool:
    """Was it accepted? False: refused, or the world is over."""
    await speaker.say(protocol.Commit(world=world.number, step=step))
    answer = await speaker.hear((protocol.CommitAnswer, protocol.Restart))
    return bool(answer == protocol.CommitAnswer(world=world.number, step=step, accepted=True))


async def training(
    namespace: Namespace, controller: ControllerProcess, stack: AsyncExitStack
) -> tuple[Workers, list[Agent], protocol.NewWorld]:
    """A job of two that trains in its first world."""
    job = await namespace.submit("digits", 2)
    pods = await namespace.until_pods(lambda found: len(found) == 2)
    workers = Workers(namespace, job, pods)
    agents = await workers.meet(stack, controller)
    for speaker in agents:
        await speaker.say(protocol.Ready(port=12345))
    world = await agents[0].hear(protocol.NewWorld)
    assert await agents[1].hear(protocol.NewWorld) == world
    return workers, agents, world


@pytest.mark.acceptance(38)
async def test_one_leads_and_the_standby_is_ready_and_sends_agents_to_it(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    leader, standby = replicas
    for process in replicas:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{process.probes}") as http:
            assert (await http.get("/readyz")).status_code == 200
            page = (await http.get("/metrics")).text
        assert f"spotrain_leader {1.0 if process is leader else 0.0}" in page
    async with AsyncExitStack() as stack:
        workers, _, _ = await training(namespace, leader, stack)
        (lost, _) = await workers.meet(stack, standby)
        assert await lost.hear(protocol.NotLeader) == protocol.NotLeader()


@pytest.mark.acceptance(38)
async def test_a_killed_leader_is_replaced_and_training_goes_on_in_the_same_world(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    leader, standby = replicas
    async with AsyncExitStack() as stack:
        workers, _, world = await training(namespace, leader, stack)
        await leader.kill(wait_for_lease=True)
        await standby.until_serving()
        assert await commit(await workers.go_on(stack, standby, world), world, 20)
    stored = await namespace.kube.get(kinds.JOBS, namespace.name, "digits")
    assert stored["status"]["recordedWorld"] == world.number  # nobody formed another one


@pytest.mark.acceptance(38)
async def test_a_leader_that_is_told_to_go_hands_over_without_a_wait(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    leader, standby = replicas
    assert leader.process
    leader.process.send_signal(signal.SIGTERM)
    assert await leader.process.wait() == 0
    await standby.until_serving()
    lease = await namespace.kube.get(LEASES, contract.SYSTEM_NAMESPACE, NAME)
    assert lease["spec"]["leaseTransitions"] == 2
    assert "was not renewed" not in "\n".join(standby.log)


@pytest.mark.acceptance(38)
async def test_a_leader_that_was_stopped_can_publish_no_world_and_accept_no_commit_when_it_wakes(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    former, standby = replicas
    async with AsyncExitStack() as stack:
        workers, (one, two), world = await training(namespace, former, stack)
        before = await holder(namespace)
        assert former.process
        former.process.send_signal(signal.SIGSTOP)
        # What reaches it while it sleeps: a commit, and all it needs to form another world.
        await one.say(protocol.Commit(world=world.number, step=10))
        for speaker in (one, two):
            await speaker.say(protocol.Failed(world=world.number, hard=False, excused=True))
            await speaker.say(protocol.Ready(port=12345, world=world.number))
        await until_held_by_another(namespace, before)
        await standby.until_serving()
        here = await workers.go_on(stack, standby, world)
        assert await commit(here, world, 20)

        former.process.send_signal(signal.SIGCONT)
        heard = await one.hear_all() + await two.hear_all()
        await former.until_logged("leading no more")

        said = (protocol.CommitAnswer, protocol.NewWorld, protocol.Restart)
        assert not [message for message in heard if isinstance(message, said)]
        stored = await namespace.kube.get(kinds.JOBS, namespace.name, "digits")
        assert stored["status"]["recordedWorld"] == world.number
        (turned_away, _) = await workers.meet(stack, former, world)
        await turned_away.hear(protocol.NotLeader)
        # It stands by now: what happens to the job is done once, by the other.
        assert await commit(here, world, 30)


@pytest.mark.acceptance(38)
async def test_a_stopped_leader_and_its_successor_make_no_pod_twice(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    former, standby = replicas
    assert former.process
    await namespace.submit("digits", 3)
    pods = await namespace.until_pods(lambda found: len(found) == 3)
    former.process.send_signal(signal.SIGSTOP)
    lost = pods[0]
    await namespace.delete_pod(lost)
    await standby.until_serving()

    def is_replaced(found: list[Object]) -> bool:
        uids = {pod["metadata"]["uid"] for pod in found}
        return len(found) == 3 and lost["metadata"]["uid"] not in uids

    replaced = await namespace.until_pods(is_replaced)
    former.process.send_signal(signal.SIGCONT)
    await former.until_logged("leading no more")
    again = await namespace.until_pods(is_replaced)
    assert {pod["metadata"]["uid"] for pod in again} == {p["metadata"]["uid"] for p in replaced}


async def test_a_leader_that_finds_anothers_name_in_the_lease_stands_down(
    namespace: Namespace, replicas: list[ControllerProcess]
) -> None:
    leader, standby = replicas
    body = {"spec": {"holderIdentity": "a person", "leaseDurationSeconds": 1}}
    await namespace.kube.patch(LEASES, contract.SYSTEM_NAMESPACE, NAME, body)
    await leader.until_logged("leading no more")
    done = {
        asyncio.create_task(p.until_logged("leading, as", times=n))
        for p, n in ((leader, 2), (standby, 1))
    }
    _, rest = await asyncio.wait(done, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
