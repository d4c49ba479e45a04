"""Where the output of a pod's process goes: into a file, or line by line to whoever keeps it."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO, Final, Protocol

from spotrain.archive.log_lines import LineSplitter

logger = logging.getLogger(__name__)

READ_BYTES: Final = 65536
PIPE_BYTES: Final = 1 << 20
"""The most that Linux lets a pipe hold (pipe(7), pipe-max-size), unless its root says otherwise."""
STRAGGLER_SECONDS: Final = 1.0
"""After the process has ended, for the end of the pipe, which comes at once unless somebody who has
left the process group holds it open; and for a taker that has no room."""

TakeLines = Callable[[list[str]], Awaitable[None]]
"""Whole lines, without their line feed. They are taken before it first waits; it waits for room,
which holds the process up."""


class Output(Protocol):
    def begin(self) -> IO[bytes]:
        """What the process writes to; whoever starts it closes this when it has been started."""

    async def finish(self) -> None:
        """The process has ended: returns when all that it wrote has been taken, room or not."""


class FileOutput:
    """Appended to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self) -> IO[bytes]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.open("ab")

    async def finish(self) -> None:
        return None


class PipedOutput:
    """Handed on as it comes."""

    def __init__(self, take: TakeLines) -> None:
        self._take = take
        self._pumping: asyncio.Task[None] | None = None

    def begin(self) -> IO[bytes]:
        reading, writing = os.pipe()
        self._pumping = asyncio.get_running_loop().create_task(
            self._pump(os.fdopen(reading, "rb", 0))
        )
        return os.fdopen(writing, "wb", 0)

    async def finish(self) -> None:
        assert self._pumping
        done, _ = await asyncio.wait({self._pumping}, timeout=STRAGGLER_SECONDS)
        if not done:
            self._pumping.cancel()
            await asyncio.wait({self._pumping})

    async def _pump(self, pipe: IO[bytes]) -> None:
        splitter, reader = LineSplitter(), asyncio.StreamReader(limit=READ_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while data := await reader.read(READ_BYTES):
                await self._hand_on(splitter.feed(data))
            await self._hand_on(splitter.end())
        except asyncio.CancelledError:  # by `finish`, which waits no longer
            if not transport.is_closing():
                reader.feed_data(_drain(pipe))
            transport.close()
            reader.feed_eof()
            rest = splitter.feed(await reader.read()) + splitter.end()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0):  # taken at once, and no waiting for room
                    await self._hand_on(rest)
        finally:
            transport.close()

    async def _hand_on(self, lines: list[bytes]) -> None:
        if lines:
            await self._take([line.decode(errors="replace").rstrip("\r") for line in lines])


def _drain(pipe: IO[bytes]) -> bytes:
    """What is in it now, which is all that a process that has ended wrote."""
    found = pipe.read(PIPE_BYTES) or b""
    if pipe.read(1) != b"":  # not its end
        logger.warning("what is still printed in the name of a process that has ended is not kept")
    return found
