"""A coordinator on loopback, and what a test's own agents say to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from spotrain import worlds
from spotrain.agent.standalone import expect_token, forget_number
from spotrain.coordinator import protocol
from spotrain.coordinator.server import Coordinator

JOB = "ns/job/uid"
LIMITS = worlds.Limits(min_size=1, max_size=2, desired_size=1, growth_delay_seconds=0)
HELLO = protocol.Hello(version=protocol.VERSION, job=JOB, pod="a", address="127.0.0.1", ranks=1)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[tuple[Coordinator, str]]:
    coordinator = Coordinator(record=forget_number, authorize=expect_token("right"), **settings)
    coordinator.set_job(JOB, LIMITS)
    async with coordinator.serving("127.0.0.1", 0) as port:
        yield coordinator, f"ws://127.0.0.1:{port}"


def connection(url: str, token: str = "right", address: str = "127.0.0.1") -> connect:
    """From `address`: on loopback all of 127.0.0.0/8 is ours."""
    return connect(
        url,
        additional_headers={"Authorization": f"Bearer {token}"},
        close_timeout=0.1,
        local_addr=(address, 0),
    )


async def say(agent: ClientConnection, message: object) -> None:
    await agent.send(protocol.encode(message))


async def hear(agent: ClientConnection) -> Any:
    return protocol.decode(await agent.recv(), protocol.FROM_COORDINATOR)


async def join(agent: ClientConnection, pod: str = "a", port: int = 1) -> Any:
    """Say hello and be ready; the answer to the hello."""
    await say(agent, replace(HELLO, pod=pod))
    welcome = await hear(agent)
    await say(agent, protocol.Ready(port=port))
    return welcome


async def until_gone(coordinator: Coordinator, pod: str) -> None:
    """Until the job has lost this member."""
    gone = asyncio.Event()

    def look(_key: str) -> None:
        if pod not in coordinator.jobs[JOB].state.members:
            gone.set()

    coordinator.watchers.append(look)
    look(JOB)
    async with asyncio.timeout(60):
        await gone.wait()
