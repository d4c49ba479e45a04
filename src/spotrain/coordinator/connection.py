"""One agent's connection, with its limits: what floods, or is not read, is ended."""

import asyncio
import logging
import time
from typing import Any, cast

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode

from spotrain.coordinator.bucket import Bucket
from spotrain.coordinator.gate import Gate
from spotrain.coordinator.refusals import Cause, Count, Refusal, count_nothing

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 1.0
"""For a peer's part in closing a connection, and for reading why it is refused."""
PIECE_BYTES = 4096
"""Of the input that is looked at before the limits are asked again. The event loop reads up to
256 KiB of one connection at once, in which forty thousand frames fit."""


class AgentConnection(ServerConnection):
    """A server's connection that enters and leaves a gate, and counts what its peer sends.

    Counted below the messages, because pings, fragments and garbage cost as much as they do.
    """

    def __init__(
        self, *args: Any, gate: Gate, count: Count = count_nothing, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        limits, now = gate.limits, time.monotonic()
        self.limits = limits
        self.refusal: Refusal | None = None
        """Why this peer is served no more; None: it is served."""
        self._count = count
        self._is_counted = False
        self._gate = gate
        self._address = ""
        self._is_known = False
        self._frames = Bucket(limits.frames_per_second, limits.frames, now)
        self._bytes = Bucket(limits.bytes_per_second, limits.bytes, now)
        self._closing: asyncio.Task[None] | None = None

    def know(self) -> None:
        """Its hello was accepted."""
        self._is_known = True
        self._gate.know(self._address)

    def count(self, cause: Cause) -> None:
        """This peer is refused; what follows from that is not counted again."""
        if not self._is_counted:
            self._is_counted = True
            self._count(cause)

    def cut_off(self, cause: Cause) -> None:
        """End the connection without a word: its peer would not read it."""
        self.count(cause)
        self.transport.abort()

    def refuse(self, refusal: Refusal, *, code: CloseCode = CloseCode.POLICY_VIOLATION) -> None:
        """Serve it no more; it is told the reason if it listens."""
        if self.refusal:
            return
        self.refusal = refusal
        self.count(refusal.cause)
        logger.warning("refused %s: %s", self._address, refusal.words)
        # What it may still say is that it closes its side too.
        self._bytes = Bucket(0.0, PIECE_BYTES, time.monotonic())
        self.loop.call_later(2 * CLOSE_SECONDS, self.transport.abort)
        # A close frame holds 123 bytes of text.
        text = refusal.words.encode(errors="replace")[:120].decode(errors="ignore")
        self._closing = self.loop.create_task(self.close(code, text))

    # --- What asyncio calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = str((transport.get_extra_info("peername") or ("?",))[0])
        # Told in the answer to its request, if it sends one.
        self.refusal = self._gate.enter(self._address, time.monotonic())
        if self.refusal:
            self.count(self.refusal.cause)
            self.loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gate.leave(self._address, known=self._is_known)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            if self._bytes.take(len(piece), time.monotonic()):
                super().data_received(piece)
            elif self.request is None:
                self.cut_off(Cause.BYTES)
                return
            else:
                self.refuse(Refusal(Cause.BYTES, "more bytes a second than an agent sends"))
                return
            if self._unread > self.limits.outbox_bytes:
                self.cut_off(Cause.OUTBOX_BYTES)

    @property
    def _unread(self) -> int:
        return cast(asyncio.WriteTransport, self.transport).get_write_buffer_size()

    def process_event(self, event: Any) -> None:
        if not self._frames.take(1, time.monotonic()) and self.request is not None:
            self.refuse(Refusal(Cause.FRAMES, "more messages a second than an agent sends"))
        if not self.refusal or self.request is None:
            super().process_event(event)
