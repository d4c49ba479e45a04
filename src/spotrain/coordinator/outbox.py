"""What is on its way to one agent: in order, and bounded."""

import asyncio
import logging
from collections import deque
from contextlib import suppress

from websockets.exceptions import ConnectionClosed

from spotrain.coordinator.connection import AgentConnection
from spotrain.coordinator.refusals import Cause

logger = logging.getLogger(__name__)


class Outbox:
    """Takes messages without waiting; one writer sends them.

    An agent that does not read must not grow the coordinator's memory: beyond `most_bytes` its
    connection is cut, and it is lost as if its node were.
    """

    def __init__(self, connection: AgentConnection, *, version: int, most_bytes: int) -> None:
        self.version = version
        """Of the protocol that this agent speaks."""
        self._connection = connection
        self._most_bytes = most_bytes
        self._texts: deque[str] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = asyncio.Event()

    def put(self, text: str) -> None:
        if self._is_closed:
            return
        self._texts.append(text)
        self._bytes += len(text)
        self._changed.set()
        if self._bytes > self._most_bytes:
            address = self._connection.remote_address
            logger.warning("cut off %s: %d bytes wait for it", address, self._bytes)
            self._texts.clear()
            self.close()
            self._connection.cut_off(Cause.OUTBOX_BYTES)

    def close(self) -> None:
        """Take no more; the connection is closed when all has been sent."""
        self._is_closed = True
        self._changed.set()

    async def deliver(self) -> None:
        """Until it is closed and empty, or the connection ends."""
        with suppress(ConnectionClosed):
            while self._texts or not self._is_closed:
                if not self._texts:
                    self._changed.clear()
                    await self._changed.wait()
                    continue
                text = self._texts.popleft()
                await self._connection.send(text)
                self._bytes -= len(text)
            await self._connection.close()
