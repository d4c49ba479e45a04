"""The key-value store of a world: a fresh TCPStore on the agent of rank 0."""

import socket
from datetime import timedelta

from torch.distributed import TCPStore  # type: ignore[attr-defined]


def open_store(address: str) -> TCPStore:
    """A store of its own for one world, listening on `address` at a free port.

    Opened before the agent is ready, so that its port travels with that message. Where the
    address is not one of this machine's interfaces (a NAT, a Service), it listens on all of them.
    """
    listener = _listen(address)
    return TCPStore(
        host_name=address,
        port=listener.getsockname()[1],
        world_size=None,
        is_master=True,
        timeout=timedelta(seconds=60),
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )


class Stores:
    """The store of the world that this agent hosts, if it does, and the one for its next."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._next: TCPStore | None = open_store(address)
        self._used: TCPStore | None = None

    def next_port(self) -> int:
        if self._next is None:
            self._next = open_store(self._address)
        return int(self._next.port)

    def host_world(self) -> None:
        """The next store serves a world from now on; the one before is closed."""
        self._used, self._next = self._next, None


def _listen(address: str) -> socket.socket:
    family, _, _, _, place = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(place)
    except OSError:
        listener.close()
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(("", 0))
    listener.listen(1024)
    return listener
