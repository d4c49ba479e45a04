"""A coordinator of one's own, for one box: the same code as in a cluster, on loopback."""

import asyncio
import hmac
import queue
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spotrain import contract, worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.client import Endpoint
from spotrain.coordinator.server import Authorize, Coordinator
from spotrain.worlds import history


@contextmanager
def own_coordinator(
    job: str, *, max_restarts: int, progress_deadline_seconds: float = 0.0
) -> Iterator[Endpoint]:
    """Serve one job of one agent on a thread, at a free port of 127.0.0.1, behind a random token.

    A world that does no step for `progress_deadline_seconds` (0: any time) is formed anew.
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
            watch = asyncio.create_task(keep_deadline(coordinator, job, progress_deadline_seconds))
            await stopping.wait()
            watch.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield Endpoint(urls=(f"ws://127.0.0.1:{ports.get(timeout=30)}",), token=token)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(timeout=10)


async def keep_deadline(coordinator: Coordinator, job: str, seconds: float) -> None:
    """What the controller does in a cluster: tell the coordinator of a world that hangs."""
    while seconds > 0:
        report = coordinator.report(job)
        due = history.next_step_due(report.history, seconds) if report is not None else None
        if report is not None and due is not None and coordinator.clock() >= due:
            message = (
                f"world {report.number} has done no step after {report.step} for {seconds:g} s, "
                f"{contract.ENV_PROGRESS_DEADLINE}"
            )
            coordinator.stall(job, report.number, message)
        await asyncio.sleep(min(1.0, seconds / 4))


def expect_token(token: str) -> Authorize:
    async def authorize(shown: str, hello: protocol.Hello) -> str:
        if hmac.compare_digest(shown.encode(), token.encode()):
            return ""
        return "the token is not this run's"

    return authorize


async def forget_number(job: str, number: int) -> None:
    pass
