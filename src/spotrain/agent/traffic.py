"""What a worker's pod has read from and written to the shared volume, as the kernel counts it.

The kernel counts for each mounted file system, not for each process or pod. Where a volume's driver
mounts it anew for each pod, through a proxy of that mount on the node's loopback (one that
encrypts that way), the count is the pod's own. Pods that share one mount of a file server would
each count what all of them move, so such mounts are left out: then nobody knows.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from spotrain.coordinator import protocol

TELL_SECONDS: Final = 15.0
"""As often as the controller writes down how far training has come."""
_DEVICE: Final = re.compile(r"device (\S+) mounted on (\S+) with fstype nfs4?(?: |$)")
_OWN: Final = ("127.", "[::1]", "localhost:")
"""Servers of mounts that are the pod's own."""


class Count(NamedTuple):
    read: int = 0
    """Bytes that the server sent."""
    written: int = 0


Read = Callable[[], Count | None]
"""What was counted so far; None: this pod has no mount whose count is its own."""


def read_count() -> Count | None:
    """By the kernel's own files."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text()
        return count(Path("/proc/self/mountstats").read_text(), mounts)
    except OSError:  # no Linux
        return None


def count(mountstats: str, mountinfo: str) -> Count | None:
    """The sum over all file systems, however many folders each is mounted at.

    Args:
        mountstats, mountinfo: the texts of these files in /proc/self.
    """
    devices = {line.split()[4]: line.split()[2] for line in mountinfo.splitlines() if line}
    found = dict(_counts(mountstats, devices))
    if not found:
        return None
    return Count(
        sum(each.read for each in found.values()), sum(each.written for each in found.values())
    )


def _counts(mountstats: str, devices: dict[str, str]) -> Iterator[tuple[str, Count]]:
    """Number of each file system that is this pod's own -> its count."""
    own = ""
    for line in mountstats.splitlines():
        if line.startswith("device "):
            mount = _DEVICE.match(line)
            is_own = mount is not None and mount[1].startswith(_OWN)
            own = devices.get(mount[2], mount[2]) if mount and is_own else ""
        elif own and (words := line.split())[:1] == ["bytes:"]:
            # normal, direct and server, each read and written; the server's are those of the wire
            yield own, Count(int(words[5]), int(words[6]))


class Traffic:
    """Tells the coordinator what this worker has moved since it began."""

    def __init__(self, send: Callable[[protocol.FromAgent], bool], read: Read = read_count) -> None:
        self._send, self._read = send, read
        self._began = read()
        self._told_at: float | None = None

    def tell(self, now: float, *, last: bool = False) -> None:
        """If it is time for that. `last`: training in this world is over, so it always is."""
        is_due = self._told_at is None or now - self._told_at >= TELL_SECONDS
        if self._began is None or not (is_due or last):
            return
        self._told_at = now
        if (seen := self._read()) is not None:
            self._send(
                protocol.Traffic(
                    read_bytes=max(0, seen.read - self._began.read),
                    written_bytes=max(0, seen.written - self._began.written),
                )
            )
