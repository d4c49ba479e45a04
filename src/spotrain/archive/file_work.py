"""Work on a volume's files, in threads of its own: one that hangs keeps those, and nobody else."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from spotrain.archive.errors import Unavailable

T = TypeVar("T")
PATIENCE_SECONDS: Final = 20.0
"""A file server that takes longer for one answer is not going to give it while somebody waits."""
PROBE_SECONDS: Final = 5.0


def unpacking_seconds(packed: int) -> float:
    """For so many bytes of a .tar.gz. A small file takes a file server about 10 ms to make, and
    packs to about 1 kB."""
    return 120.0 + packed * 10e-6


class FileWork:
    """Usage: `await work.run(path.read_bytes)`. As many at once as it has threads."""

    def __init__(self, name: str, threads: int = 8, *, patience: float = PATIENCE_SECONDS) -> None:
        self._name = name
        self._patience = patience
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for number in range(threads):
            # Daemons: a thread that a dead file server keeps must not keep the process.
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True).start()

    async def run(
        self, work: Callable[..., T], *arguments: Any, patience: float | None = None
    ) -> T:
        """`patience`: seconds, where it takes long by its nature.

        Raises Unavailable when they are over; the work itself may still be done later.
        """
        seconds = patience or self._patience
        try:
            async with asyncio.timeout(seconds):
                return await self.run_to_end(work, *arguments)
        except TimeoutError:
            raise Unavailable(
                f"the volume of {self._name} has not answered for {seconds:.0f} s. Wait, and ask "
                "an administrator to look at the file server; training is not held up by it."
            ) from None

    async def run_to_end(self, work: Callable[..., T], *arguments: Any) -> T:
        """However long it takes: for what must not be given up half-way, such as a write."""
        future: Future[T] = Future()
        self._tasks.put((future, lambda: work(*arguments)))
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        while True:
            future, work = self._tasks.get()
            if not future.set_running_or_notify_cancel():
                continue  # whoever asked has gone
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)


class Pulse:
    """Whether a volume answers: it is looked at again and again, by a thread of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._work = FileWork(f"{name} (pulse)", threads=1)
        self._asked_at: float | None = None
        self.problem = "has not been looked at yet"

    @property
    def silent_seconds(self) -> float:
        """How long the present look takes already."""
        return time.monotonic() - self._asked_at if self._asked_at is not None else 0.0

    async def beat(self) -> None:
        """Never returns."""
        while True:
            self._asked_at = time.monotonic()
            try:
                await self._work.run_to_end(_look, self._folder)
                self.problem = ""
            except OSError as error:
                self.problem = str(error)
            self._asked_at = None
            await asyncio.sleep(PROBE_SECONDS)


def _look(folder: Path) -> None:
    with os.scandir(folder) as entries:
        next(entries, None)
