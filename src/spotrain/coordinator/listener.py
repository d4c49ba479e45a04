"""The port that agents connect to, and the one answer of a process that does not lead."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import cast

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from spotrain.coordinator import protocol
from spotrain.coordinator.connection import CLOSE_SECONDS, AgentConnection
from spotrain.coordinator.gate import Gate
from spotrain.coordinator.limits import DEFAULT, ServerLimits
from spotrain.coordinator.refusals import Count, count_nothing

PING_SECONDS = 1.0
EXPIRY_SECONDS = 5.0
"""An agent that has not answered a ping for so long is lost."""
QUEUED_FRAMES = 4
"""Of one connection, before its input is left with its sender."""


@asynccontextmanager
async def listening(
    handler: Callable[[AgentConnection], Awaitable[None]],
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    ping_seconds: float = PING_SECONDS,
    expiry_seconds: float = EXPIRY_SECONDS,
    limits: ServerLimits = DEFAULT,
    count: Count = count_nothing,
) -> AsyncIterator[int]:
    """Give each agent's connection to `handler`; yields the port (0 asks for a free one)."""
    agent = partial(AgentConnection, gate=Gate(limits), count=count)
    server = await serve(
        cast(Callable[[ServerConnection], Awaitable[None]], handler),
        host,
        port,
        ssl=tls,
        max_size=protocol.MAX_MESSAGE_BYTES,
        ping_interval=ping_seconds,
        ping_timeout=expiry_seconds,
        close_timeout=CLOSE_SECONDS,
        open_timeout=limits.hello_seconds,
        max_queue=QUEUED_FRAMES,
        compression=None,
        process_request=_answer_request,
        create_connection=cast(type[ServerConnection], agent),
        server_header=None,
    )
    try:
        yield next(iter(server.sockets)).getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


async def turn_away(connection: AgentConnection) -> None:
    """A standby's part: whatever an agent says first, another one leads. It keeps no state."""
    with suppress(ConnectionClosed, TimeoutError):
        async with asyncio.timeout(connection.limits.hello_seconds):
            await connection.recv()
        await dismiss(connection, protocol.NotLeader())
    await connection.close()


async def dismiss(
    connection: ServerConnection, reason: protocol.Refused | protocol.NotLeader
) -> None:
    await connection.send(protocol.encode(reason))
    await connection.close()


def _answer_request(connection: ServerConnection, request: Request) -> Response | None:
    assert isinstance(connection, AgentConnection)
    if connection.refusal:
        return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, connection.refusal.words + "\n")
    if request.path == "/healthz":
        return connection.respond(HTTPStatus.OK, "ok\n")
    return None
