"""The coordinator over real websockets: who is let in, what is formed, what hostile input does."""

import asyncio
import queue
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from spotrain.agent.standalone import expect_token, forget_number
from spotrain.coordinator import protocol
from spotrain.coordinator.client import Client, Endpoint, resolve
from spotrain.coordinator.listener import listening, turn_away
from spotrain.coordinator.server import Coordinator
from tests.coordinator.talk import (
    HELLO,
    JOB,
    LIMITS,
    connection,
    hear,
    join,
    say,
    serving,
    until_gone,
)


async def test_a_ready_agent_gets_a_world_that_names_its_store() -> None:
    async with serving() as (_, url), connection(url) as agent:
        assert await join(agent, port=4711) == protocol.Welcome(version=protocol.VERSION)
        world = await hear(agent)
        assert (world.number, world.store_port, world.seats[0].id) == (1, 4711, "a")


@pytest.mark.parametrize(
    ("hello", "token", "why"),
    [
        pytest.param(HELLO, "wrong", "the token is not this run's", id="token"),
        pytest.param(replace(HELLO, job="ns/other/uid"), "right", "is not known here", id="job"),
        pytest.param(replace(HELLO, version=99), "right", "version 99 is not served", id="version"),
        pytest.param(replace(HELLO, ranks=0), "right", "has 1 to 64", id="ranks"),
    ],
)
async def test_strangers_are_told_why_they_are_refused(
    hello: protocol.Hello, token: str, why: str
) -> None:
    async with serving() as (coordinator, url), connection(url, token) as agent:
        await say(agent, hello)
        refused = await hear(agent)
        assert why in refused.reason
        assert "right" not in refused.reason
        with pytest.raises(ConnectionClosed):
            await agent.recv()
        assert coordinator.jobs[JOB].state.members == {}


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param("garbage", id="text"),
        pytest.param(b"\x00\xff", id="bytes"),
        pytest.param('{"type": "ready"}', id="missing-field"),
        pytest.param('{"type": "hello", "job": "x"}', id="second-hello"),
        pytest.param("x" * (protocol.MAX_MESSAGE_BYTES + 1), id="too-large"),
    ],
)
async def test_garbage_ends_its_own_connection_and_harms_no_other_job(garbage: str | bytes) -> None:
    async with serving() as (coordinator, url):
        coordinator.set_job("ns/other/uid", LIMITS)
        async with connection(url) as victim, connection(url) as attacker:
            await say(victim, replace(HELLO, job="ns/other/uid"))
            assert isinstance(await hear(victim), protocol.Welcome)
            await join(attacker)
            await attacker.send(garbage)
            await attacker.wait_closed()
            await say(victim, protocol.Ready(port=1))
            assert isinstance(await hear(victim), protocol.NewWorld)


async def test_what_a_pod_moved_is_still_told_when_it_is_gone() -> None:
    async with serving() as (coordinator, url):
        async with connection(url) as agent:
            await join(agent)
            await say(agent, protocol.Traffic(read_bytes=5, written_bytes=-3))
        await until_gone(coordinator, "a")
        report = coordinator.report(JOB)
        assert report is not None
        told = report.traffic["a"]
        assert (told.read_bytes, told.written_bytes) == (5, 0)
        assert told.told_at <= coordinator.clock()


async def test_a_broken_connection_counts_as_a_loss_at_once() -> None:
    async with serving() as (_, url), connection(url) as a:
        await join(a, "a")
        assert (await hear(a)).number == 1
        async with connection(url) as b:
            await join(b, "b")
            assert isinstance(await hear(a), protocol.Drain)
            await say(a, protocol.Drained(world=1))
            await say(a, protocol.Ready(port=2, survivor=True))
            assert (await hear(a)).number == 2
            b.transport.abort()
            assert await hear(a) == protocol.Restart(world=2)


@pytest.mark.parametrize(("uses_session", "restarts"), [(None, 0), (True, 1)])
async def test_a_plain_scripts_failure_at_a_planned_stop_uses_up_no_restart(
    uses_session: bool | None, restarts: int
) -> None:
    """Its ranks see peers go ahead of them; one with the library would have stopped at a step."""
    async with serving() as (coordinator, url), connection(url) as a:
        await say(a, replace(HELLO, uses_session=uses_session))
        await hear(a)
        await say(a, protocol.Ready(port=1))
        assert (await hear(a)).number == 1
        async with connection(url) as b:
            await join(b, "b")
            assert isinstance(await hear(a), protocol.Drain)
            await say(a, protocol.Failed(world=1, hard=True, message="connection closed by peer"))
            assert await hear(a) == protocol.Restart(world=1)
            await say(a, protocol.Ready(port=2))
            assert (await hear(a)).number == 2
            assert coordinator.jobs[JOB].state.restarts == restarts


async def test_a_silent_peer_expires() -> None:
    async with serving(ping_seconds=0.05, expiry_seconds=0.1) as (coordinator, url):
        gone = asyncio.Event()
        async with connection(url) as agent:
            await join(agent)
            coordinator.watchers.append(
                lambda key: gone.set() if not coordinator.jobs[key].state.members else None
            )
            agent.transport.pause_reading()  # the process lives, but nothing is heard of it
            async with asyncio.timeout(30):
                await gone.wait()


async def test_the_word_of_the_controller_counts_before_the_ping_does() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        await join(agent)
        await hear(agent)
        coordinator.lose(JOB, "a")
        assert coordinator.jobs[JOB].state.members == {}
        assert coordinator.report(JOB).history[0].reason == "loss"  # type: ignore[union-attr]


async def test_a_newcomer_learns_whether_the_script_uses_the_library() -> None:
    async with serving() as (_, url), connection(url) as a:
        await join(a)
        await say(a, protocol.UsesSession(value=True))
        await say(a, protocol.Commit(world=9, step=9))
        while await hear(a) != protocol.CommitAnswer(world=9, step=9, accepted=False):
            pass
        async with connection(url) as b:
            assert await join(b, "b") == protocol.Welcome(
                version=protocol.VERSION, uses_session=True
            )


async def test_agents_of_a_deleted_job_are_told_and_sent_away() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        await join(agent)
        assert isinstance(await hear(agent), protocol.NewWorld)
        coordinator.drop_job(JOB)
        assert (await hear(agent)).reason == f"job {JOB!r} was deleted"
        await agent.wait_closed()


async def test_a_taken_port_is_an_error_that_names_it() -> None:
    async with serving() as (coordinator, url):
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(OSError, match=str(port)):
            async with coordinator.serving("127.0.0.1", port):
                pass


async def test_the_client_comes_back_after_the_coordinator_was_away() -> None:
    received: queue.Queue[Any] = queue.Queue()
    async with serving() as (_, url):
        endpoint = Endpoint(urls=(url,), token="right")
        client = Client(endpoint, hello=lambda: HELLO, received=received.put)
        client.start()
        assert isinstance(await asyncio.to_thread(received.get, timeout=30), protocol.Welcome)
    port = int(url.rsplit(":", 1)[1])
    again = Coordinator(record=forget_number, authorize=expect_token("right"))
    again.set_job(JOB, LIMITS)
    async with again.serving("127.0.0.1", port):
        assert isinstance(await asyncio.to_thread(received.get, timeout=30), protocol.Welcome)
        await asyncio.to_thread(client.close)


def test_a_token_shows_in_no_representation() -> None:
    assert "secret" not in repr(Endpoint(urls=("ws://x",), token="secret"))


async def test_a_coordinator_that_does_not_lead_sends_the_agent_to_the_next_address() -> None:
    """Two processes behind one name, as a headless Service has them; one of them stands by."""
    received: queue.Queue[object] = queue.Queue()
    async with serving() as (_, url):
        port = int(url.rpartition(":")[2])
        async with listening(turn_away, "127.0.0.2", port):
            client = Client(
                Endpoint(urls=(f"ws://localhost:{port}",), token="right"),
                hello=lambda: HELLO,
                received=received.put,
                resolve=lambda _url: ("127.0.0.2", "127.0.0.1"),
            )
            client.start()
            try:
                welcome = await asyncio.to_thread(received.get, timeout=60)
            finally:
                await asyncio.to_thread(client.close)
    assert welcome == protocol.Welcome(version=protocol.VERSION)


async def test_an_address_where_nobody_answers_does_not_keep_the_agent_from_the_next() -> None:
    received: queue.Queue[object] = queue.Queue()
    async with serving() as (_, url):
        client = Client(
            Endpoint(urls=(url,), token="right"),
            hello=lambda: HELLO,
            received=received.put,
            resolve=lambda _url: ("127.0.0.3", "127.0.0.1"),
        )
        client.start()
        try:
            welcome = await asyncio.to_thread(received.get, timeout=60)
        finally:
            await asyncio.to_thread(client.close)
    assert welcome == protocol.Welcome(version=protocol.VERSION)


def test_every_address_behind_a_name_is_known() -> None:
    assert "127.0.0.1" in resolve("ws://localhost:8443")


async def test_who_stands_down_sends_every_agent_away_without_ending_it() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        await join(agent)
        assert (await hear(agent)).number == 1
        coordinator.stand_down()
        assert await hear(agent) == protocol.NotLeader()
        with pytest.raises(ConnectionClosed):
            await agent.recv()


async def test_who_no_longer_leads_answers_no_commit_and_publishes_no_world() -> None:
    """As a process that was stopped, and is woken when another has led for a while."""
    leads, recording = True, asyncio.Event()

    async def slow_record(_key: str, number: int) -> None:
        if number == 2:
            recording.set()
            await woken.wait()

    woken = asyncio.Event()
    coordinator = Coordinator(
        record=slow_record, authorize=expect_token("right"), leads=lambda: leads
    )
    coordinator.set_job(JOB, LIMITS)
    async with (
        coordinator.serving("127.0.0.1", 0) as port,
        connection(f"ws://127.0.0.1:{port}") as agent,
    ):
        await join(agent)
        assert (await hear(agent)).number == 1
        await say(agent, protocol.Commit(world=1, step=5))
        assert (await hear(agent)).accepted
        await say(agent, protocol.Failed(world=1, hard=False, excused=True))
        await say(agent, protocol.Ready(port=1, world=1))
        await recording.wait()
        leads = False
        woken.set()
        await say(agent, protocol.Commit(world=1, step=6))
        await (await agent.ping())
        coordinator.stand_down()
        heard = await hear_all(agent)
    assert not any(isinstance(one, protocol.CommitAnswer | protocol.NewWorld) for one in heard)


async def hear_all(agent: ClientConnection) -> list[Any]:
    """Until the connection is closed."""
    with suppress(ConnectionClosed):
        return [protocol.decode(text, protocol.FROM_COORDINATOR) async for text in agent]
    return []


async def test_who_no_longer_leads_greets_agents_with_the_next_address() -> None:
    async with serving(leads=lambda: False) as (_, url), connection(url) as agent:
        await say(agent, HELLO)
        assert await hear(agent) == protocol.NotLeader()
