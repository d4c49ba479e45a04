"""A forwarded port whose other side hangs: who has had enough leaves at once."""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from websockets.asyncio.server import ServerConnection, serve

from spotrain.cli.listeners import private_listener
from spotrain.cli.port_forward import PROTOCOL, PortForward

SECONDS = 60.0
GIVEN_UP_SECONDS = 12.0
"""Less than a ping takes to be given up, which ends a connection too: after 20 s and more."""


def config_of(server: str, **user: object) -> SingleConfig:
    found = KubeConfig.from_dict(
        {
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    ).get()
    assert found is not None
    return found


@asynccontextmanager
async def deaf_server() -> AsyncIterator[str]:
    """It lets everybody in and reads nothing."""

    async def ignore(_connection: ServerConnection) -> None:
        await asyncio.Event().wait()

    made = await serve(
        ignore,
        "127.0.0.1",
        0,
        subprotocols=[PROTOCOL],
        compression=None,
        max_queue=1,
        close_timeout=0.1,
    )
    try:
        yield f"http://127.0.0.1:{next(iter(made.sockets)).getsockname()[1]}"
    finally:
        made.close(close_connections=True)


def send_until_full(path: Path) -> socket.socket:
    """Until nothing has gone on for a while: every buffer on the way is full."""
    local = socket.socket(socket.AF_UNIX)
    local.connect(str(path))
    local.settimeout(1.0)
    with contextlib.suppress(TimeoutError):
        while True:
            local.sendall(bytes(1 << 20))
    return local


async def test_who_leaves_does_not_wait_for_a_server_that_reads_no_more() -> None:
    async with deaf_server() as server:
        forward = PortForward(config_of(server), "team", "archive", 80)

        def fill_and_leave() -> None:
            with private_listener() as (listener, path), forward.listening(listener):
                send_until_full(path).close()

        async with asyncio.timeout(GIVEN_UP_SECONDS):
            await asyncio.to_thread(fill_and_leave)


async def test_who_leaves_does_not_wait_for_a_program_that_fetches_a_token(
    tmp_path: Path,
) -> None:
    asked, answer = tmp_path / "asked", tmp_path / "answer"
    for pipe in (asked, answer):
        os.mkfifo(pipe)
    program = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "sh",
        "args": ["-c", f"echo > {asked}; cat {answer}"],
    }
    forward = PortForward(config_of("http://127.0.0.1:9", exec=program), "team", "archive", 80)

    def connect_and_leave() -> None:
        with (
            private_listener() as (listener, path),
            forward.listening(listener),
            socket.socket(socket.AF_UNIX) as local,
        ):
            local.connect(str(path))
            asked.read_text()

    threads = set(threading.enumerate())
    try:
        async with asyncio.timeout(SECONDS):
            await asyncio.to_thread(connect_and_leave)
    finally:
        answer.write_text("{}")
        for thread in set(threading.enumerate()) - threads:
            if thread.daemon:
                thread.join(SECONDS)
