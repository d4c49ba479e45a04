"""/healthz and /readyz for the kubelet, /metrics for Prometheus, over the plainest HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from spotrain.controller.meters import CONTENT_TYPE

REQUEST_SECONDS: Final = 5.0
LONGEST_LINE: Final = 2048
Page = Callable[[], bytes]


def _no_page() -> bytes:
    return b""


@asynccontextmanager
async def answering(
    host: str, port: int, is_ready: Callable[[], bool], metrics: Page = _no_page
) -> AsyncIterator[int]:
    """Answer until the context is left; yields the port. /healthz says that the event loop turns.

    Raises OSError: the port is taken.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(REQUEST_SECONDS):
                request = (await reader.readline()).decode("latin-1").split(" ")
                while (await reader.readline()).strip():
                    pass
                path = request[1] if len(request) > 1 else ""
                writer.write(respond(path, is_ready(), metrics))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, port, limit=LONGEST_LINE)
    async with server:
        yield server.sockets[0].getsockname()[1]


def respond(path: str, is_ready: bool, metrics: Page = _no_page) -> bytes:
    if path == "/metrics":
        return _response(HTTPStatus.OK, metrics(), CONTENT_TYPE)
    if path == "/healthz":
        return _response(HTTPStatus.OK, b"ok\n")
    if path == "/readyz" and is_ready:
        return _response(HTTPStatus.OK, b"ready\n")
    if path == "/readyz":
        text = b"the cluster has not been listed yet\n"
        return _response(HTTPStatus.SERVICE_UNAVAILABLE, text)
    return _response(HTTPStatus.NOT_FOUND, b"there are /healthz, /readyz and /metrics\n")


def _response(status: HTTPStatus, body: bytes, content_type: str = "text/plain") -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
