"""Agents and coordinator of a real controller: who is let in, and what outlives a restart."""

import ssl

import pytest

from spotrain import kinds
from spotrain.coordinator import protocol
from spotrain.kinds import Object
from tests.cluster.agents import agent, key_of, play
from tests.cluster.cluster import ControllerProcess, Namespace
from tests.cluster.test_metrics import read

pytestmark = pytest.mark.cluster
REFUSALS = "spotrain_coordinator_refusals_total"


async def start(
    namespace: Namespace, controller: ControllerProcess, replicas: int
) -> tuple[str, list[Object]]:
    job = await namespace.submit("digits", replicas)
    await controller.start()
    pods = await namespace.until_pods(lambda found: len(found) == replicas)
    await controller.until_serving()
    return key_of(job), sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


async def test_an_agent_with_its_own_pods_token_is_welcome(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first, _) = await start(namespace, controller, 2)
    async with await play(namespace, controller, job, first) as speaker:
        welcome = await speaker.hear(protocol.Welcome)
    assert welcome.version == protocol.VERSION


async def test_an_agent_with_another_pods_token_is_refused_and_the_token_is_not_repeated(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first, second) = await start(namespace, controller, 2)
    async with await play(namespace, controller, job, first, shown=second) as speaker:
        refused = await speaker.hear(protocol.Refused)
    assert refused.reason.startswith("the token shown is not that of pod")
    token = await namespace.token_of(second)
    assert not any(token.split(".")[1] in line for line in controller.log)


async def test_a_forged_token_is_refused_and_counted(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first,) = await start(namespace, controller, 1)
    name, authority = first["metadata"]["name"], await namespace.authority()
    forged = agent(controller.port, authority=authority, token="x.y.z", job=job, pod=name)
    async with forged as speaker:
        assert "is not one of a pod" in (await speaker.hear(protocol.Refused)).reason
    assert (await read(controller))[REFUSALS, frozenset({("cause", "token")})] == 1


async def test_the_token_of_a_pod_of_another_job_is_refused(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first,) = await start(namespace, controller, 1)
    other = key_of(await namespace.submit("other", 1))
    await namespace.until_pods(lambda found: len(found) == 2)
    async with await play(namespace, controller, other, first) as speaker:
        assert "is no worker of job" in (await speaker.hear(protocol.Refused)).reason
    assert job != other


async def test_the_coordinator_is_trusted_by_the_published_authority_alone(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first,) = await start(namespace, controller, 1)
    stranger = (namespace.server.authority).read_text()
    unknown = agent(controller.port, authority=stranger, token="", job=job, pod="digits-worker-0")
    with pytest.raises(ssl.SSLCertVerificationError):
        async with unknown:
            pass
    async with await play(namespace, controller, job, first) as speaker:
        assert await speaker.hear(protocol.Welcome)


async def meet(
    namespace: Namespace, controller: ControllerProcess, job: str, pods: list[Object]
) -> tuple[int, int]:
    """Both agents join and get a world: its number, and the one stored when they heard of it."""
    first, second = pods
    async with (
        await play(namespace, controller, job, first) as one,
        await play(namespace, controller, job, second) as two,
    ):
        for speaker in (one, two):
            await speaker.say(protocol.Ready(port=12345))
        world = await one.hear(protocol.NewWorld)
        stored = await namespace.kube.get(kinds.JOBS, namespace.name, "digits")
        assert await two.hear(protocol.NewWorld) == world
        settled = await namespace.until_job(lambda job: published(job) == world.number)
        assert settled["status"]["world"]["size"] == 2
    return world.number, stored["status"]["recordedWorld"]


def published(job: Object) -> int:
    """The world that the status shows."""
    number: int = job["status"].get("world", {}).get("number", 0)
    return number


async def test_a_world_is_stored_before_it_is_published_and_numbers_outlive_the_controller(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, pods = await start(namespace, controller, 2)
    assert await meet(namespace, controller, job, pods) == (1, 1)

    await controller.kill()
    await controller.start()
    await controller.until_serving()

    number, stored = await meet(namespace, controller, job, pods)
    assert number > 1
    assert stored == number


async def test_the_peers_of_a_pod_that_is_gone_need_not_wait_for_its_connection_to_break(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first, second) = await start(namespace, controller, 2)
    async with (
        await play(namespace, controller, job, first) as one,
        await play(namespace, controller, job, second) as two,
    ):
        for speaker in (one, two):
            await speaker.say(protocol.Ready(port=12345))
        world = await one.hear(protocol.NewWorld)

        await namespace.delete_pod(second)

        restart = await one.hear(protocol.Restart)
    assert restart.world == world.number


async def test_a_deleted_job_is_unknown_to_the_coordinator(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    job, (first,) = await start(namespace, controller, 1)
    token, authority = await namespace.token_of(first), await namespace.authority()
    uid = job.split("/")[2]
    await namespace.kube.delete(kinds.JOBS, namespace.name, "digits", uid=uid)

    name = first["metadata"]["name"]
    reason = ""
    while "is not known here" not in reason:  # the word of the deletion is still on its way
        async with agent(
            controller.port, authority=authority, token=token, job=job, pod=name
        ) as speaker:
            answer = await speaker.hear((protocol.Refused, protocol.Welcome))
            reason = answer.reason if isinstance(answer, protocol.Refused) else ""
