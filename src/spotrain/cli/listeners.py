"""Sockets of this machine behind which a forwarded port lies."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from spotrain.cli.errors import UserError


@contextmanager
def private_listener() -> Iterator[tuple[socket.socket, Path]]:
    """A socket in a folder that nobody else on this machine may enter; and its path."""
    with TemporaryDirectory(prefix="spotrain-") as folder, socket.socket(socket.AF_UNIX) as made:
        path = Path(folder) / "port"
        made.bind(str(path))
        made.listen()
        yield made, path


@contextmanager
def local_port(port: int = 0) -> Iterator[tuple[socket.socket, int]]:
    """A socket on this machine's loopback, for a browser; 0: any port that is free.

    Raises UserError: it is taken.
    """
    with socket.socket() as made:
        try:
            made.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(f"port {port} of this machine: {error}; name another one.") from None
        made.listen()
        yield made, made.getsockname()[1]
