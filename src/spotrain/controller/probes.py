"""/healthz and /readyz for the kubelet, over the plainest HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

REQUEST_SECONDS: Final = 5.0
LONGEST_LINE: Final = 2048


@asynccontextmanager
async def answering(host: str, port: int, is_ready: Callable[[], bool]) -> AsyncIterator[int]:
    """Answer until the context is left; yields the port. /healthz says that the event loop turns.

    Raises OSError: the port is taken.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(REQUEST_SECONDS):
                request = (await reader.readline()).decode("latin-1").split(" ")
                while (await reader.readline()).strip():
                    pass
                writer.write(respond(request[1] if len(request) > 1 else "", is_ready()))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, port, limit=LONGEST_LINE)
    async with server:
        yield server.sockets[0].getsockname()[1]


def respond(path: str, is_ready: bool) -> bytes:
    if path == "/healthz":
        status, text = HTTPStatus.OK, "ok\n"
    elif path == "/readyz" and is_ready:
        status, text = HTTPStatus.OK, "ready\n"
    elif path == "/readyz":
        status, text = HTTPStatus.SERVICE_UNAVAILABLE, "the cluster has not been listed yet\n"
    else:
        status, text = HTTPStatus.NOT_FOUND, "there are /healthz and /readyz\n"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    )
    return (head + text).encode()
