"""What a real kubelet serves to the API server: containers' logs, and ports of pods.

One server stands for the kubelets of all made-up nodes. Only who shows a certificate of the given
authority is heard: the API server, which has asked itself what its user may do.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from spotrain.controller import certificates
from spotrain.local.kubelet.addresses import HOST_IP
from spotrain.local.kubelet.log_stream import LogOptions, stream
from spotrain.local.kubelet.pod import PodRun

PROTOCOL: Final = "v4.channel.k8s.io"
DATA, ERROR = b"\0", b"\1"
PIECE: Final = 1 << 16
Find = Callable[[str, str], PodRun | None]
"""(namespace, name) -> the pod, where it runs on a node that can be reached."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the kubelet itself."""
        yield


@asynccontextmanager
async def serving(find: Find, authority: Path, folder: Path) -> AsyncIterator[int]:
    """Yields the port. `authority`: certificate that has signed the API server's own."""
    certificate, key = _certificate(folder)
    config = uvicorn.Config(
        _app(find),
        host=HOST_IP,
        port=0,
        lifespan="off",
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        ssl_ca_certs=str(authority),
        ssl_cert_reqs=ssl.CERT_REQUIRED,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:  # uvicorn tells nobody
            await asyncio.sleep(0.01)
            if serving.done():
                await serving
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Of its own making: API servers do not look at it unless they are told to."""
    made = certificates.make(datetime.now(UTC))
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = folder / "kubelet.crt", folder / "kubelet.key"
    certificate.write_text(made.server)
    with open(os.open(key, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(made.server_key)
    return certificate, key


def _app(find: Find) -> Starlette:
    async def logs(request: Request) -> Response:
        place = request.path_params
        run = find(place["namespace"], place["pod"])
        if run is None:
            return PlainTextResponse(f"pod {place['pod']} is not here", 404)
        try:
            options = LogOptions.read(request.query_params, datetime.now(UTC))
        except ValueError as error:
            return PlainTextResponse(str(error), 400)
        times = run.log_times(place["container"], previous=options.previous)
        if times is None:
            text = f"container {place['container']} of pod {place['pod']} has no log yet"
            return PlainTextResponse(text, 400)
        return StreamingResponse(stream(times, options), media_type="text/plain")

    async def forward(socket: WebSocket) -> None:
        place = socket.path_params
        run = find(place["namespace"], place["pod"])
        ports = socket.query_params.getlist("port")
        if run is None or len(ports) != 1 or not ports[0].isdecimal():
            await socket.close()
            return
        await socket.accept(subprotocol=PROTOCOL)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await _forward(socket, run.state.ip, int(ports[0]))

    return Starlette(
        routes=[
            Route("/containerLogs/{namespace}/{pod}/{container}", logs),
            WebSocketRoute("/portForward/{namespace}/{pod}", forward),
        ]
    )


async def _forward(socket: WebSocket, address: str, port: int) -> None:
    for channel in (DATA, ERROR):
        await socket.send_bytes(channel + port.to_bytes(2, "little"))
    try:
        reader, writer = await _connect(address, port)
    except OSError as error:
        await socket.send_bytes(ERROR + f"error forwarding port {port}: {error}".encode())
        await socket.close()
        return
    sending = asyncio.create_task(_send(socket, writer))
    try:
        while data := await reader.read(PIECE):
            await socket.send_bytes(DATA + data)
        await socket.close()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()


async def _send(socket: WebSocket, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            message = await socket.receive_bytes()
            if message[:1] == DATA:
                writer.write(message[1:])
                await writer.drain()
    finally:
        writer.close()  # the other direction ends with it


async def _connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A pod's own loopback is this machine's too: what listens there is found second."""
    try:
        return await asyncio.open_connection(address, port)
    except OSError:
        return await asyncio.open_connection(HOST_IP, port)
