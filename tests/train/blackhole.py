"""A proxy that can swallow bytes: a network that is partitioned, but closes nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Proxy:
    """Between an agent and its coordinator."""

    to_port: int
    port: int = 0
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def swallow(self) -> None:
        """From now on nothing arrives, on old connections and on new ones."""
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError):
            await self._open.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to_port)
            with suppress(asyncio.CancelledError):
                await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
            far_writer.close()
        writer.close()
        self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.close()

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def proxy(to_port: int) -> AsyncIterator[Proxy]:
    made = Proxy(to_port)
    made.heal()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made.stop()
        await server.wait_closed()
