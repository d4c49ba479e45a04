"""A coordinator of one's own, for one box: the same code as in a cluster, on loopback."""

import asyncio
import hmac
import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.client import Endpoint
from spotrain.coordinator.server import Authorize, Coordinator


@contextmanager
def own_coordinator(job: str, *, max_restarts: int) -> Iterator[Endpoint]:
    """Serve one job of one agent on a thread, at a free port of 127.0.0.1, behind a random token.

    World numbers need not be durable here: the ranks report the newest world in their output
    (`FloorFound`), and numbers rise from there.
    """
    token = secrets.token_urlsafe(32)
    limits = worlds.Limits(min_size=1, max_size=1, desired_size=1, max_restarts=max_restarts)
    ports: queue.Queue[int] = queue.Queue()
    stopping = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        coordinator = Coordinator(record=forget_number, authorize=expect_token(token))
        coordinator.set_job(job, limits)
        async with coordinator.serving("127.0.0.1", 0) as port:
            ports.put(port)
            await stopping.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield Endpoint(urls=(f"ws://127.0.0.1:{ports.get(timeout=30)}",), token=token)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(timeout=10)


def expect_token(token: str) -> Authorize:
    async def authorize(shown: str, hello: protocol.Hello) -> str:
        if hmac.compare_digest(shown.encode(), token.encode()):
            return ""
        return "the token is not this run's"

    return authorize


async def forget_number(job: str, number: int) -> None:
    pass
