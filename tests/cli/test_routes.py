"""A server that cannot be reached straight: by the proxy that the kubeconfig names, and under the
name that its certificate is to have. Nobody here can resolve CLUSTER: the proxy does."""

import asyncio
import base64
import http
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from spotrain.cli.cluster import connected
from spotrain.cli.errors import UserError
from spotrain.cli.kubeconfig import read_config
from spotrain.cli.listeners import private_listener
from spotrain.cli.port_forward import DATA, PORT_BYTES, PROTOCOL, PortForward
from spotrain.controller import certificates
from spotrain.controller.certificates import SERVER_NAMES
from spotrain.controller.trust import load
from spotrain.kinds import JOBS

CLUSTER = "cluster.invalid"
SECONDS = 60.0
CREDENTIALS = certificates.make(datetime.now(UTC))
EMPTY = b'{"items": [], "metadata": {"resourceVersion": "1"}}'


@asynccontextmanager
async def api_server() -> AsyncIterator[int]:
    """Over TLS: a list without jobs, and a pod that gives back what its port is sent."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    async def echo(connection: ServerConnection) -> None:
        await connection.send(DATA + bytes(PORT_BYTES))
        async for message in connection:
            await connection.send(message)

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        if "portforward" in request.path:
            return None
        return connection.respond(http.HTTPStatus.OK, EMPTY.decode())

    load(tls, CREDENTIALS)
    made: Server = await serve(
        echo, "127.0.0.1", 0, ssl=tls, subprotocols=[PROTOCOL], process_request=answer
    )
    async with made:
        yield port_of(made)


def port_of(server: Server | asyncio.Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])


@asynccontextmanager
async def proxy(scheme: str, target: int) -> AsyncIterator[tuple[int, list[str]]]:
    """Its port, and what it was asked for; all of it is `target` on this machine."""
    asked: list[str] = []
    ask = {"http": ask_by_http, "socks5": ask_by_socks}[scheme]
    tasks = set[asyncio.Task[None]]()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
        finally:
            writer.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await ask(reader, writer))
        there, back = await asyncio.open_connection("127.0.0.1", target)
        for task in (carry(reader, back), carry(there, writer)):
            tasks.add(asyncio.create_task(task))

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as server:
        yield port_of(server), asked
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def ask_by_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    method, place, _ = head.decode().split("\r\n")[0].split()
    assert method == "CONNECT"
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    return place


async def ask_by_socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """RFC 1928, with a name for an address."""
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(b"\x05\x00")
    *head, length = await reader.readexactly(5)
    assert head == [5, 1, 0, 3]
    name = (await reader.readexactly(length)).decode()
    port = int.from_bytes(await reader.readexactly(2), "big")
    writer.write(b"\x05\x00\x00\x01" + bytes(6))
    return f"{name}:{port}"


def write_kubeconfig(folder: Path, **way: str) -> str:
    authority = base64.b64encode(CREDENTIALS.authority.encode()).decode()
    cluster = {"server": f"https://{CLUSTER}:6443", "certificate-authority-data": authority, **way}
    document = {
        "current-context": "team",
        "clusters": [{"name": "team", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "some"}}],
        "contexts": [{"name": "team", "context": {"cluster": "team", "user": "me"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def list_jobs() -> int:
    with connected(None, None) as cluster:
        return len(cluster.list_all(JOBS))


def echo_through_a_pod() -> bytes:
    forward = PortForward(read_config(None), "team", "archive", 80)
    with (
        private_listener() as (listener, path),
        forward.listening(listener),
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.settimeout(SECONDS)
        local.connect(str(path))
        local.sendall(b"is it there?")
        return local.recv(100)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_proxy_that_the_kubeconfig_names_is_the_way_of_requests_and_ports(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        asyncio.timeout(SECONDS),
        api_server() as there,
        proxy(scheme, there) as (port, asked),
    ):
        way = {"proxy-url": f"{scheme}://127.0.0.1:{port}", "tls-server-name": SERVER_NAMES[0]}
        monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, **way))
        assert await asyncio.to_thread(list_jobs) == 0
        assert await asyncio.to_thread(echo_through_a_pod) == b"is it there?"
    assert asked == [f"{CLUSTER}:6443"] * 2


async def test_a_certificate_of_another_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        asyncio.timeout(SECONDS),
        api_server() as there,
        proxy("http", there) as (port, _),
    ):
        way = {"proxy-url": f"http://127.0.0.1:{port}"}
        monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, **way))
        with pytest.raises(UserError, match=r"certificate is not valid for 'cluster\.invalid'"):
            await asyncio.to_thread(list_jobs)


def test_a_proxy_of_a_kind_that_nobody_speaks_is_told_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_kubeconfig(tmp_path, **{"proxy-url": "ftp://ada:hunter2@proxy:21"})
    monkeypatch.setenv("KUBECONFIG", path)
    with pytest.raises(UserError, match=r"'team' cannot be used: .*ftp") as refused:
        list_jobs()
    assert "hunter2" not in str(refused.value)
