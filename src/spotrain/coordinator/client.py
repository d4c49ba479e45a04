"""An agent's connection to the coordinator: kept up for as long as the agent lives.

Training never stops for the coordinator: while it is away the client reconnects with growing,
jittered pauses, states where the agent stands in its hello, and says again what must not be lost.
A coordinator that does not lead says so, and the next address is tried at once.
"""

import asyncio
import contextlib
import itertools
import logging
import random
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.protocol import State

from spotrain.coordinator import protocol

logger = logging.getLogger(__name__)

MAX_BACKOFF_SECONDS = 1.0
"""Low, because a pause of the coordinator is a pause of training if a member dies meanwhile."""

CONNECT_SECONDS = 2.0
"""For one address: that of a node that is gone answers nothing, and the next one may lead."""

CLOSE_SECONDS = 1.0
"""For a coordinator to say goodbye: one that has not answered pings is not waited for."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the coordinator is, and how this agent shows who it is. The token is never logged."""

    urls: tuple[str, ...]
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read at every connection: a projected token is renewed every hour."""
    ca_file: Path | None = None

    def current_token(self) -> str:
        return self.token_file.read_text().strip() if self.token_file else self.token

    def tls(self, url: str) -> ssl.SSLContext | None:
        if not url.startswith("wss://"):
            return None
        return ssl.create_default_context(cafile=self.ca_file)


def resolve(url: str) -> Sequence[str]:
    """The addresses behind the name in `url`, in the resolver's order. Raises OSError."""
    found = socket.getaddrinfo(urlsplit(url).hostname, _port(url), type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "wss" else 80)


class Client:
    """Delivers messages both ways, on a thread of its own.

    That thread alone reads and writes: a TLS connection which two threads use at once breaks or
    falls silent (https://github.com/python/cpython/issues/143756).

    `hello` is asked at every connection, `received` is called with each message, in order, and
    returns at once: meanwhile the coordinator's pings wait.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        hello: Callable[[], protocol.Hello],
        received: Callable[[protocol.FromCoordinator], None],
        resolve: Callable[[str], Sequence[str]] = resolve,
    ) -> None:
        self._endpoint = endpoint
        self._resolve = resolve
        self._hello = hello
        self._received = received
        self._line: _Line | None = None
        self._was_welcome = False
        self._is_closing = False
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="coordinator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, message: protocol.FromAgent) -> bool:
        """Whether it was handed to a living connection; the next hello tells the rest."""
        line = self._line
        if line is None or line.connection.state is not State.OPEN:
            return False
        text = protocol.encode(message)
        if len(text) > protocol.MAX_MESSAGE_BYTES:
            logger.error("a %s of %d bytes is too long", type(message).__name__, len(text))
            return False
        return self._call(lambda: line.outbox.put_nowait(text))

    def close(self) -> None:
        """What was handed over is sent before."""
        self._call(self._begin_to_close)
        self._thread.join(timeout=5)

    def _call(self, act: Callable[[], None]) -> bool:
        """In the thread of the connection; False: it has ended."""
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            return False
        return True

    def _begin_to_close(self) -> None:
        self._is_closing = True
        if self._line is not None:
            self._line.outbox.put_nowait(None)
        elif self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        running = asyncio.Runner(loop_factory=lambda: self._loop)
        with running as runner, contextlib.suppress(asyncio.CancelledError):
            runner.run(self._keep_up())

    async def _keep_up(self) -> None:
        self._task = asyncio.current_task()
        pauses = backoff(MAX_BACKOFF_SECONDS)
        while not self._is_closing:
            for url, address in self._places():
                was_welcome = await self._visit(url, address)
                if self._is_closing:
                    return
                if was_welcome:
                    pauses = backoff(MAX_BACKOFF_SECONDS)
                    break  # ask anew where the coordinators are
            await asyncio.sleep(next(pauses))

    def _places(self) -> Iterator[tuple[str, str]]:
        """Every address behind every name: of several coordinators only one leads."""
        for url in self._endpoint.urls:
            try:
                for address in self._resolve(url):
                    yield url, address
            except (OSError, UnicodeError) as error:
                logger.warning("coordinator %s: %s; trying again", url, error)

    async def _visit(self, url: str, address: str) -> bool:
        """Talk to the coordinator there until the connection ends; False: it had no welcome."""
        self._was_welcome = False
        try:
            await self._converse(url, address)
        except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
            name = f"coordinator {url} at {address}"
            logger.warning("%s: %s; trying again", name, _reason(error))
        except Exception as error:  # the thread must not end while the agent lives
            logger.error("coordinator %s: %s: %s", url, type(error).__name__, error)
        return self._was_welcome

    async def _converse(self, url: str, address: str) -> None:
        headers = {"Authorization": f"Bearer {self._endpoint.current_token()}"}
        tls = self._endpoint.tls(url)
        async with connect(
            url,
            sock=await _dial(address, _port(url)),
            ssl=tls,
            additional_headers=headers,
            max_size=protocol.MAX_MESSAGE_BYTES,
            ping_interval=1.0,
            ping_timeout=5.0,
            compression=None,
            proxy=None,
            open_timeout=5.0,
            close_timeout=CLOSE_SECONDS,
        ) as connection:
            await connection.send(protocol.encode(self._hello()))
            self._line = _Line(connection)
            sending = asyncio.create_task(self._line.send_all())
            try:
                async for text in connection:
                    message = protocol.decode(text, protocol.FROM_COORDINATOR)
                    if isinstance(message, protocol.NotLeader):
                        logger.debug("coordinator %s at %s does not lead", url, address)
                        return
                    self._was_welcome |= isinstance(message, protocol.Welcome)
                    if message is not None:
                        self._received(message)
            finally:
                self._line = None
                sending.cancel()


@dataclass(frozen=True)
class _Line:
    """A connection that has said hello."""

    connection: ClientConnection
    outbox: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    """What is handed over, in order; None ends the connection."""

    async def send_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while (text := await self.outbox.get()) is not None:
                await self.connection.send(text)
            await self.connection.close()


async def _dial(address: str, port: int) -> socket.socket:
    """Raises OSError, TimeoutError."""
    dialled = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        dialled.setblocking(False)
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.get_running_loop().sock_connect(dialled, (address, port))
    except BaseException:
        dialled.close()
        raise
    return dialled


def _reason(error: Exception) -> str:
    """What the coordinator says, where it has answered at all."""
    if isinstance(error, InvalidStatus) and error.response.body:
        return bytes(error.response.body).decode(errors="replace").strip()[:300]
    return str(error) or type(error).__name__


def backoff(most: float) -> Iterator[float]:
    """Pauses between attempts: 50 ms doubling up to `most`, each with up to 50 % jitter."""
    for attempt in itertools.count():
        yield min(most, 0.05 * 2 ** min(attempt, 10)) * random.uniform(0.75, 1.25)


def is_websocket_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return False


def split_urls(text: str) -> Sequence[str]:
    return tuple(url.strip() for url in text.split(",") if url.strip())
