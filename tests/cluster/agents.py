"""Agents that a test plays: no process, only what one says to the coordinator and hears of it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from spotrain import contract
from spotrain.coordinator import protocol
from spotrain.kinds import Object
from tests.cluster.cluster import WAIT_SECONDS, ControllerProcess, Namespace


@dataclass
class Agent:
    """A connection to the coordinator, as an agent has one."""

    connection: ClientConnection

    async def say(self, message: protocol.FromAgent) -> None:
        await self.connection.send(protocol.encode(message))

    async def hear(self, kind: type[Any] | tuple[type[Any], ...]) -> Any:
        """The next message of that type, or of one of those."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for text in self.connection:
                message = protocol.decode(text, protocol.FROM_COORDINATOR)
                if isinstance(message, kind):
                    return message
        raise AssertionError(f"the coordinator closed the connection before any {kind}")

    async def hear_all(self) -> list[Any]:
        """Everything until the connection ends."""
        heard = []
        with contextlib.suppress(ConnectionClosed):
            async with asyncio.timeout(WAIT_SECONDS):
                async for text in self.connection:
                    heard.append(protocol.decode(text, protocol.FROM_COORDINATOR))
        return heard


@asynccontextmanager
async def agent(
    port: int,
    *,
    authority: str,
    token: str,
    job: str,
    pod: str,
    world: protocol.NewWorld | None = None,
) -> AsyncIterator[Agent]:
    """Connect by the Service's name, though it is served here; the first word is hello."""
    tls = ssl.create_default_context(cadata=authority)
    tls.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 does
    host = f"{contract.COORDINATOR_SERVICE}.{contract.SYSTEM_NAMESPACE}.svc"
    async with connect(
        f"wss://{host}:{contract.COORDINATOR_PORT}",
        ssl=tls,
        host="127.0.0.1",
        port=port,
        additional_headers={"Authorization": f"Bearer {token}"},
        proxy=None,
        ping_interval=None,  # a coordinator that is stopped stays connected
    ) as connection:
        speaker = Agent(connection)
        await speaker.say(
            protocol.Hello(
                version=protocol.VERSION,
                job=job,
                pod=pod,
                address="127.0.0.1",
                ranks=1,
                world=world,
            )
        )
        with contextlib.suppress(asyncio.CancelledError):
            yield speaker


def key_of(job: Object) -> str:
    """By which agents and the coordinator call the job."""
    metadata = job["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}/{metadata['uid']}"


async def play(
    namespace: Namespace,
    controller: ControllerProcess,
    job: str,
    pod: Object,
    *,
    shown: Object | None = None,
    world: protocol.NewWorld | None = None,
) -> AbstractAsyncContextManager[Agent]:
    """An agent that says it is `pod`, with its token or that of the pod `shown`; with `world`, as
    one that trains in it."""
    return agent(
        controller.port,
        authority=await namespace.authority(),
        token=await namespace.token_of(shown or pod),
        job=job,
        pod=pod["metadata"]["name"],
        world=world,
    )


async def play_all(
    stack: AsyncExitStack,
    namespace: Namespace,
    controller: ControllerProcess,
    job: str,
    pods: list[Object],
    *,
    world: protocol.NewWorld | None = None,
) -> list[Agent]:
    """One agent a pod, until the stack is left."""
    return [
        await stack.enter_async_context(await play(namespace, controller, job, pod, world=world))
        for pod in pods
    ]
