"""An agent's connection: under TLS, as in a cluster, with traffic both ways at once; its end."""

import asyncio
import contextlib
import queue
import socket
import ssl
import threading
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.server import ServerConnection, serve

from spotrain import contract
from spotrain.controller import certificates
from spotrain.coordinator import protocol
from spotrain.coordinator.client import Client, Endpoint
from tests.coordinator.talk import HELLO
from tests.tls_threads import tls_threads

MESSAGES = 20_000
SECONDS = 120.0


@pytest.fixture
def made(tmp_path: Path) -> certificates.Credentials:
    made = certificates.make(datetime.now(UTC))
    (tmp_path / "ca.crt").write_text(made.authority)
    (tmp_path / "tls.pem").write_text(made.server + made.server_key)
    return made


async def agree(connection: ServerConnection) -> None:
    """Accept each commit, by an answer of its own."""
    async for text in connection:
        match protocol.decode(text, protocol.FROM_AGENT):
            case protocol.Hello():
                answer: object = protocol.Welcome(version=protocol.VERSION)
            case protocol.Commit(world=world, step=step):
                answer = protocol.CommitAnswer(world=world, step=step, accepted=True)
        await connection.send(protocol.encode(answer))


@pytest.mark.usefixtures("made")
async def test_one_thread_serves_both_sides_that_speak_at_once_and_no_message_is_lost(
    tmp_path: Path,
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "tls.pem")
    received: queue.Queue[object] = queue.Queue()
    server = await serve(agree, "127.0.0.1", 0, ssl=tls, compression=None)
    async with server:
        port = next(iter(server.sockets)).getsockname()[1]
        client = Client(
            Endpoint(
                urls=(f"wss://{contract.COORDINATOR_SERVICE}:{port}",),
                token="right",
                ca_file=tmp_path / "ca.crt",
            ),
            hello=lambda: HELLO,
            received=received.put,
            resolve=lambda url: ("127.0.0.1",) if urlsplit(url).port == port else (),
        )

        def speak() -> list[object]:
            welcome = received.get(timeout=SECONDS)
            for step in range(MESSAGES):
                assert client.send(protocol.Commit(world=1, step=step))
            return [welcome, *(received.get(timeout=SECONDS) for _ in range(MESSAGES))]

        with tls_threads() as threads:
            client.start()
            try:
                heard = await asyncio.to_thread(speak)
            finally:
                await asyncio.to_thread(client.close)
    answers = (protocol.CommitAnswer(world=1, step=step, accepted=True) for step in range(MESSAGES))
    assert heard == [protocol.Welcome(version=protocol.VERSION), *answers]
    assert [len(each) for each in threads.values()] == [1]


async def test_what_was_handed_over_is_sent_before_the_connection_is_closed() -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()

    async def listen(connection: ServerConnection) -> None:
        await connection.send(protocol.encode(protocol.Welcome(version=protocol.VERSION)))
        async for text in connection:
            heard.put_nowait(protocol.decode(text, protocol.FROM_AGENT))
        heard.put_nowait(connection.close_code)

    async with serve(listen, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        received: queue.Queue[object] = queue.Queue()
        endpoint = Endpoint(urls=(f"ws://127.0.0.1:{port}",), token="right")
        client = Client(endpoint, hello=lambda: HELLO, received=received.put)
        client.start()
        await asyncio.to_thread(received.get, timeout=SECONDS)

        def speak() -> None:
            for step in range(100):
                client.send(protocol.Saved(world=1, step=step))
            client.close()

        await asyncio.to_thread(speak)
        async with asyncio.timeout(SECONDS):
            found = [await heard.get() for _ in range(102)]
    saved = (protocol.Saved(world=1, step=step) for step in range(100))
    assert found == [HELLO, *saved, 1000]


def test_an_agent_that_leaves_waits_for_no_coordinator_that_is_gone() -> None:
    """Its port takes no connection any more, at several addresses, as that of a lost node."""
    asked = threading.Event()

    def resolve(_url: str) -> tuple[str, ...]:
        asked.set()
        return ("127.0.0.1",) * 100

    with socket.create_server(("127.0.0.1", 0), backlog=0) as gone, contextlib.ExitStack() as stack:
        port = gone.getsockname()[1]
        for _ in range(8):  # fill what the system keeps for a server that does not look
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        client = Client(
            Endpoint(urls=(f"ws://127.0.0.1:{port}",), token="right"),
            hello=lambda: HELLO,
            received=lambda _message: None,
            resolve=resolve,
        )
        client.start()
        assert asked.wait(SECONDS)
        client.close()
        assert "coordinator" not in {thread.name for thread in threading.enumerate()}
