"""The archive's service over a real socket, without a cluster behind it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import uvicorn

from spotrain.archive.client import TIMEOUT, Client
from spotrain.archive.file_work import PATIENCE_SECONDS
from spotrain.archive.server import Archive, Service


@contextmanager
def serving(
    folder: Path,
    output: Path,
    problems: dict[str, str] | None = None,
    *,
    patience: float = PATIENCE_SECONDS,
) -> Iterator[str]:
    """Its address."""
    archive = Archive(folder=folder, output=output, problems=lambda: problems or {})
    app = Service(archive, patience=patience).app
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def asking(url: str) -> Iterator[Client]:
    with httpx2.Client(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
        yield Client(http)
