"""Every refused connection is counted once, by a cause that no peer can make up."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import fields, replace
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from spotrain.coordinator import protocol
from spotrain.coordinator.limits import ServerLimits
from spotrain.coordinator.refusals import Cause
from tests.coordinator.talk import HELLO, connection, hear, join, say, serving

NEVER = 1e-6
"""A rate at which nothing comes back during a test."""
Act = Callable[[ClientConnection], Awaitable[None]]


def saying(**changes: Any) -> Act:
    """Say a hello that is answered by a refusal, and stay until the end."""

    async def act(agent: ClientConnection) -> None:
        await say(agent, replace(HELLO, **changes))
        assert isinstance(await hear(agent), protocol.Refused)

    return act


def sending(*texts: str) -> Act:
    async def act(agent: ClientConnection) -> None:
        with suppress(ConnectionClosed):
            for text in texts:
                await agent.send(text)

    return act


async def do_nothing(_agent: ClientConnection) -> None:
    pass


CASES = [
    pytest.param(Cause.HELLO_SECONDS, do_nothing, ServerLimits(hello_seconds=0.05)),
    pytest.param(
        Cause.FRAMES, sending(*("{}",) * 9), ServerLimits(frames=3, frames_per_second=NEVER)
    ),
    pytest.param(
        Cause.BYTES, sending(" " * 50_000), ServerLimits(bytes=9000, bytes_per_second=NEVER)
    ),
    pytest.param(Cause.MEMBERS, saying(), ServerLimits(members=0)),
    pytest.param(Cause.VERSION, saying(version=999), ServerLimits()),
    pytest.param(Cause.JOB, saying(job="ns/made-up/by-a-peer"), ServerLimits()),
    pytest.param(Cause.RANKS, saying(ranks=0), ServerLimits()),
    pytest.param(Cause.PROTOCOL, sending("not JSON"), ServerLimits()),
]


@pytest.mark.parametrize(("cause", "act", "limits"), CASES)
async def test_a_refused_connection_is_counted_once_by_its_cause(
    cause: Cause, act: Act, limits: ServerLimits
) -> None:
    causes: list[Cause] = []
    async with (
        serving(limits=limits, count=causes.append) as (_, url),
        connection(url) as agent,
        asyncio.timeout(60),
    ):
        await act(agent)
        await agent.wait_closed()
    assert causes == [cause]


async def test_an_agent_that_does_not_read_is_counted() -> None:
    causes: list[Cause] = []
    limits = ServerLimits(outbox_bytes=1000)
    async with (
        serving(limits=limits, count=causes.append) as (coordinator, url),
        connection(url) as agent,
    ):
        await join(agent)
        (job,) = coordinator.jobs.values()
        job.outboxes["a"].put(" " * 2000)
        await agent.wait_closed()
    assert causes == [Cause.OUTBOX_BYTES]


@pytest.mark.parametrize(
    ("cause", "limits"),
    [
        (Cause.CONNECTIONS, ServerLimits(connections=1)),
        (Cause.STRANGERS, ServerLimits(strangers=1)),
        (Cause.STRANGERS_PER_ADDRESS, ServerLimits(strangers_per_address=1)),
        (Cause.VISITS, ServerLimits(visits=1, visits_per_second=NEVER)),
    ],
)
async def test_who_is_sent_away_at_the_door_is_counted(cause: Cause, limits: ServerLimits) -> None:
    causes: list[Cause] = []
    async with (
        serving(limits=limits, count=causes.append) as (_, url),
        AsyncExitStack() as held,
    ):
        await held.enter_async_context(connection(url))
        with pytest.raises(InvalidStatus):
            await connection(url)
    assert causes == [cause]


async def test_a_wrong_token_and_one_that_nobody_could_review_are_told_apart() -> None:
    causes: list[Cause] = []
    async with serving(count=causes.append) as (coordinator, url):
        async with connection(url, token="wrong") as agent:
            await saying()(agent)
            await agent.wait_closed()

        async def cannot_ask(_token: str, _hello: protocol.Hello) -> str:
            raise TimeoutError("the API server cannot review tokens now")

        coordinator.authorize = cannot_ask
        async with connection(url) as agent:
            await say(agent, HELLO)
            await agent.wait_closed()
    assert causes == [Cause.TOKEN, Cause.REVIEW]


async def test_who_joins_and_leaves_and_who_asks_a_standby_is_not_counted() -> None:
    causes: list[Cause] = []
    async with serving(count=causes.append) as (coordinator, url):
        async with connection(url) as agent:
            await join(agent)
        coordinator.leads = lambda: False
        async with connection(url) as agent:
            await say(agent, HELLO)
            assert isinstance(await hear(agent), protocol.NotLeader)
    assert causes == []


def test_causes_that_are_limits_have_their_names() -> None:
    names = [item.name for item in fields(ServerLimits)]
    limits = [name for name in names if not name.endswith("_per_second")]
    assert [cause.value for cause in Cause][: len(limits)] == limits
