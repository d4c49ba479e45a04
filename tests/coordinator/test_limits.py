"""What one peer can take from the coordinator: no more than its share, and it is told why."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from spotrain.coordinator import protocol
from spotrain.coordinator.gate import MAX_ADDRESSES, Gate
from spotrain.coordinator.limits import MAX_MEMBERS, ServerLimits
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

OTHER = "ns/other/uid"
NEVER = 1e-6
"""A rate at which nothing comes back during a test."""


async def refusal(url: str, address: str = "127.0.0.1") -> str:
    """Why a connection is refused before its first word."""
    with pytest.raises(InvalidStatus) as refused:
        await connection(url, address=address)
    assert refused.value.response.status_code == 503
    return (refused.value.response.body or b"").decode()


async def test_connections_beyond_the_most_are_refused_until_one_ends() -> None:
    async with (
        serving(limits=ServerLimits(connections=2)) as (_, url),
        connection(url) as one,
        connection(url),
    ):
        assert "2 connections are open" in await refusal(url)
        await one.close()
        await until_let_in(url)


async def until_let_in(url: str) -> None:
    """The server hears of the end of a connection a moment after its client."""
    async with asyncio.timeout(60):
        while True:
            try:
                async with connection(url):
                    return
            except InvalidStatus:
                await asyncio.sleep(0.01)


async def test_who_says_nothing_keeps_nobody_out_who_comes_from_elsewhere() -> None:
    async with (
        serving(limits=ServerLimits(strangers_per_address=2)) as (_, url),
        connection(url),
        connection(url) as silent,
    ):
        assert "127.0.0.1 have not said who they are" in await refusal(url)
        async with connection(url, address="127.0.0.2") as agent:
            assert isinstance(await join(agent), protocol.Welcome)
        await say(silent, replace(HELLO, pod="b"))
        assert isinstance(await hear(silent), protocol.Welcome)
        async with connection(url):
            pass  # who has said hello is no stranger any more


async def test_strangers_of_many_addresses_leave_room_for_those_who_are_known() -> None:
    limits = ServerLimits(strangers=2)
    async with serving(limits=limits) as (_, url), AsyncExitStack() as held:
        for host in (1, 2):
            await held.enter_async_context(connection(url, address=f"127.0.1.{host}"))
        assert "have not said who they are" in await refusal(url)


async def test_an_address_that_comes_again_and_again_is_refused() -> None:
    limits = ServerLimits(visits=3, visits_per_second=NEVER)
    async with serving(limits=limits) as (_, url):
        for _ in range(3):
            async with connection(url):
                pass
        assert "connects more often" in await refusal(url)
        async with connection(url, address="127.0.0.2"):
            pass


def test_addresses_that_come_rarely_are_forgotten_first() -> None:
    gate = Gate(ServerLimits(visits=2, visits_per_second=1))
    for number in range(MAX_ADDRESSES):
        gate.enter(f"a{number}", now=0)
        gate.leave(f"a{number}", known=False)
    gate.enter("busy", now=100)
    gate.enter("busy", now=100)
    assert len(gate.visits) < 10
    refusal = gate.enter("busy", now=100)
    assert refusal is not None
    assert "more often" in refusal.words
    assert (gate.connections, gate.strangers.total()) == (3, 3)


async def test_a_connection_without_a_hello_is_closed() -> None:
    async with (
        serving(limits=ServerLimits(hello_seconds=0.05)) as (_, url),
        connection(url) as silent,
        asyncio.timeout(60),
    ):
        await silent.wait_closed()


async def test_a_job_has_no_more_agents_than_the_most_and_one_may_come_back() -> None:
    async with serving(limits=ServerLimits(members=1)) as (_, url), connection(url) as agent:
        await join(agent)
        async with connection(url) as surplus:
            await say(surplus, replace(HELLO, pod="b"))
            refused = await hear(surplus)
            assert "the most of one job" in refused.reason
            assert not refused.final
        async with connection(url) as again:
            assert isinstance(await join(again), protocol.Welcome)


async def send_messages(agent: ClientConnection) -> None:
    for step in range(50):
        await say(agent, protocol.Saved(world=1, step=step))


async def send_pings(agent: ClientConnection) -> None:
    for number in range(50):
        await agent.ping(str(number))


async def send_fragments(agent: ClientConnection) -> None:
    await agent.send(" " for _ in range(50))


async def send_kilobytes(agent: ClientConnection) -> None:
    await agent.send(" " * 100_000)


@pytest.mark.parametrize("flood", [send_messages, send_pings, send_fragments, send_kilobytes])
async def test_a_flood_ends_its_own_connection_with_the_reason_and_harms_no_other_job(
    flood: Callable[[ClientConnection], Awaitable[None]],
) -> None:
    limits = ServerLimits(frames=20, frames_per_second=NEVER, bytes=20_000, bytes_per_second=NEVER)
    async with serving(limits=limits) as (coordinator, url):
        coordinator.set_job(OTHER, LIMITS)
        async with connection(url) as victim, connection(url) as attacker:
            await say(victim, replace(HELLO, job=OTHER))
            assert isinstance(await hear(victim), protocol.Welcome)
            await join(attacker)
            with suppress(ConnectionClosed):
                await flood(attacker)
            await attacker.wait_closed()
            assert "a second than an agent sends" in (attacker.close_reason or "")
            await until_gone(coordinator, "a")
            await say(victim, protocol.Ready(port=1))
            assert isinstance(await hear(victim), protocol.NewWorld)


async def test_an_agent_that_does_not_read_is_cut_off_before_it_grows_memory() -> None:
    limits = ServerLimits(outbox_bytes=100_000)
    async with (
        serving(limits=limits, expiry_seconds=600) as (coordinator, url),
        connection(url) as agent,
    ):
        await join(agent)
        await hear(agent)
        agent.transport.pause_reading()
        put = await tell_until_cut_off(coordinator)
    assert put < 64 * 1024 * 1024, "the system's own buffers of a socket hold a few MiB"


async def tell_until_cut_off(coordinator: Coordinator) -> int:
    outbox, text, put = coordinator.jobs[JOB].outboxes["a"], " " * 10_000, 0
    while "a" in coordinator.jobs[JOB].outboxes and put < 100 * 1024 * 1024:
        outbox.put(text)
        put += len(text)
        await asyncio.sleep(0)
    return put


def test_a_world_of_the_most_members_fits_into_a_message() -> None:
    """As it is published, and as the claim of an agent that reconnects with all it can say."""
    seat = protocol.SeatInfo(id="x" * 63, address="2001:0db8:" + "ffff:" * 5 + "ffff", ranks=64)
    world = protocol.NewWorld(number=2**53 - 1, seats=(seat,) * MAX_MEMBERS, store_port=65535)
    hello = replace(HELLO, job="n" * 63 + "/" + "j" * 63 + "/" + "u" * 36, pod="x" * 63)
    assert len(protocol.encode(replace(hello, world=world))) < protocol.MAX_MESSAGE_BYTES
