"""What Linux tells of processes: children, open files, connections."""

import contextlib
import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
LISTENS, ESTABLISHED = "0A", "01"


def descendants(pid: int) -> Iterator[int]:
    """The process itself, and all that come from it."""
    yield pid
    with contextlib.suppress(OSError):
        for file in (PROC / str(pid) / "task").glob("*/children"):
            for child in file.read_text().split():
                yield from descendants(int(child))


def is_alive(pid: int) -> bool:
    """Not gone, and not merely waiting to be noticed by its parent."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def open_files(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for link in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(link.readlink()))
    return found


def listening_addresses() -> set[str]:
    """Addresses of this machine on which somebody listens."""
    return {local for local, _, state in _sockets() if state == LISTENS}


def connected_addresses() -> set[str]:
    """Addresses to which somebody is connected."""
    return {remote for _, remote, state in _sockets() if state == ESTABLISHED}


def _sockets() -> Iterator[tuple[str, str, str]]:
    """(local address, remote address, state) of every TCP socket, IPv4 as itself."""
    for name in ("tcp", "tcp6"):
        for line in (PROC / "net" / name).read_text().splitlines()[1:]:
            _, local, remote, state, *_ = line.split()
            yield _address(local), _address(remote), state


def _address(text: str) -> str:
    digits = text.partition(":")[0]
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    address = ipaddress.ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
