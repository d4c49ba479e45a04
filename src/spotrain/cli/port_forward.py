"""A port of a pod, reached through the API server with the rights of the kubeconfig's user.

The API server knows two ways. kubectl's runs SPDY through a websocket. This is the older one, which
nodes still serve: a websocket for each connection, with the first byte of a message as its channel
(0 data, 1 error), and the port's number first on both. One websocket a connection is all that a
client of HTTP needs, and needs no SPDY.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

import httpx2
from anyio.from_thread import start_blocking_portal
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from spotrain.cli.errors import NO_CLUSTER, NOT_FOUND, UserError
from spotrain.cli.kubeconfig import route_to
from spotrain.cli.reach import address_of

T = TypeVar("T")
PROTOCOL: Final = Subprotocol("v4.channel.k8s.io")
DATA, ERROR = b"\0", b"\1"
PORT_BYTES: Final = 2
OPEN_SECONDS: Final = 15.0
CLOSE_SECONDS: Final = 1.0
PIECE: Final = 1 << 16


class PortForward:
    """Usage: `with PortForward(config, namespace, pod, port).listening(socket): ...`.

    Each connection to the local socket becomes one to the pod. Where that fails, the local one is
    closed and `problem` says why.
    """

    def __init__(self, config: SingleConfig, namespace: str, pod: str, port: int) -> None:
        self.problem: UserError | None = None
        self._config = config
        self._pod = pod
        self._port = port
        self._url = (
            f"{config.cluster.server}/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
            f"?ports={port}"
        )

    @contextmanager
    def listening(self, listener: socket.socket) -> Iterator[None]:
        """Serve a socket that listens already; all connections end with the context.

        One thread serves them all: a TLS connection which two threads use at once breaks or falls
        silent (https://github.com/python/cpython/issues/143756).
        """
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(self._serving(listener)),
        ):
            yield

    @asynccontextmanager
    async def _serving(self, listener: socket.socket) -> AsyncIterator[None]:
        tasks = set[asyncio.Task[None]]()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(begin, sock=listener)
        try:
            yield
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            remote = await self._connect()
            try:
                await self._pipe(reader, writer, remote)
            finally:
                await _close(remote)
        except UserError as error:
            self.problem = error
        finally:
            writer.close()

    async def _pipe(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, remote: ClientConnection
    ) -> None:
        sending = asyncio.create_task(_send(reader, remote))
        left = PORT_BYTES  # of the data channel, which begins with the port's number
        said = b""
        try:
            with contextlib.suppress(OSError, ConnectionClosed):
                async for message in remote:
                    assert isinstance(message, bytes)
                    channel, data = message[:1], message[1:]
                    if channel == ERROR:
                        said += data
                    elif channel == DATA:
                        skipped = min(left, len(data))
                        left -= skipped
                        writer.write(data[skipped:])
                        await writer.drain()
        finally:
            sending.cancel()
        if said[PORT_BYTES:]:
            self.problem = UserError(
                f"port {self._port} of pod {self._pod} cannot be reached: "
                f"{said[PORT_BYTES:].decode(errors='replace')[:200]}. Is it ready? "
                f"kubectl get pod {self._pod}",
                exit_code=NO_CLUSTER,
            )

    async def _connect(self) -> ClientConnection:
        """Raises UserError."""
        try:
            headers = await _apart(lambda: _credentials(self._config, self._url))
            return await connect(
                self._url.replace("http", "ws", 1),
                **self._secured(),
                proxy=self._proxy() or True,  # True: those of the environment
                additional_headers=headers,
                subprotocols=[PROTOCOL],
                compression=None,
                max_size=None,
                open_timeout=OPEN_SECONDS,
                close_timeout=CLOSE_SECONDS,
            )
        except InvalidStatus as error:
            raise self._refused(error.response.status_code, error.response.body) from None
        except (OSError, InvalidHandshake, TimeoutError, ConfigError) as error:
            server = address_of(self._config.cluster.server)
            raise UserError(
                f"no way to pod {self._pod} through {server}: {error}. "
                "Is there a way to the cluster (VPN, proxy)?",
                exit_code=NO_CLUSTER,
            ) from None

    def _secured(self) -> dict[str, Any]:
        """Options of a connection with TLS, if it is to have it."""
        if not self._url.startswith("https"):
            return {}
        assert self._config.user is not None
        cluster = self._config.cluster
        tls = client_adapter.verify_cluster(cluster, self._config.user, self._config.abs_file)
        name = route_to(cluster).server_name
        return {"ssl": tls, **({"server_hostname": name} if name else {})}

    def _proxy(self) -> str | None:
        """A SOCKS proxy resolves the server's name, as it does for kubectl; the h asks for that."""
        proxy = route_to(self._config.cluster).proxy
        return proxy.replace("socks5://", "socks5h://", 1) if proxy else None

    def _refused(self, status: int, body: bytes | bytearray | None) -> UserError:
        said = httpx2.Response(status, content=bytes(body or b""))
        message = said.text[:200]
        with contextlib.suppress(ValueError, KeyError, TypeError):
            message = said.json()["message"]
        match status:
            case 401 | 403:
                text = f"no permission to forward ports to pod {self._pod}: {message}. Ask an "
                text += "administrator for the role spotrain-researchers-jobs in its namespace."
                return UserError(text, exit_code=NO_CLUSTER)
            case 404:
                return UserError(f"pod {self._pod} is gone. Try again.", exit_code=NOT_FOUND)
        return UserError(
            f"no connection to pod {self._pod}: the cluster answers {status}: {message}",
            exit_code=NO_CLUSTER,
        )


async def _send(reader: asyncio.StreamReader, remote: ClientConnection) -> None:
    """From here to the pod. Nothing tells the pod that this side has said all; it is closed."""
    with contextlib.suppress(OSError, ConnectionClosed):
        while data := await reader.read(PIECE):
            await remote.send(DATA + data)
    await _close(remote)


async def _close(remote: ClientConnection) -> None:
    """Within a second, also where the other side reads no more: a goodbye waits for room first."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await remote.close()
    except TimeoutError:
        remote.transport.abort()


async def _apart(work: Callable[[], T]) -> T:
    """In a thread for which nobody waits when its answer is not wanted any more: a program that is
    asked for a token may hang."""
    answer = Future[T]()
    answer.set_running_or_notify_cancel()  # it comes whether or not somebody still waits

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(answer)


def _credentials(config: SingleConfig, url: str) -> dict[str, str]:
    """As lightkube would send them, a program that fetches a token included."""
    assert config.user is not None
    if (auth := client_adapter.user_auth(config.user)) is None:
        return {}  # a client certificate, or nothing
    request = httpx2.Request("GET", url)
    prepared = next(auth.sync_auth_flow(request))
    return {"Authorization": prepared.headers["Authorization"]}
