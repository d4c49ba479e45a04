"""What a pod moves to and from the shared volume: only what is its own is counted, and in time."""

import pytest

from spotrain.agent.traffic import TELL_SECONDS, Count, Traffic, count, read_count
from spotrain.coordinator import protocol

# As Linux 6.1 writes them, shortened: the root, one file system at two folders by a proxy of its
# own, another one, and a file server that all pods of the node share.
MOUNTINFO = r"""
712 650 0:101 / / rw,relatime master:219 - overlay overlay rw,lowerdir=/a
733 712 0:44 / /mnt/efs rw,relatime - nfs4 127.0.0.1:/ rw,vers=4.1,proto=tcp,port=20449
734 712 0:44 /output /mnt/my\040output rw,relatime - nfs4 127.0.0.1:/ rw,vers=4.1,port=20449
735 712 0:45 / /mnt/archive rw,relatime - nfs4 127.0.0.1:/ rw,vers=4.1,proto=tcp,port=20450
736 712 0:46 / /mnt/team rw,relatime - nfs4 10.0.0.9:/export rw,vers=4.1,proto=tcp
"""
STATS = (
    "\topts:\trw,vers=4.1,rsize=1048576,wsize=1048576\n"
    "\tage:\t1020\n"
    "\tbytes:\t{} 0 0 {} {} {} 12 7\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 2 0 12 48213 48213 0 48213 0 60 11 52\n"
    "\tper-op statistics\n"
    "\t        READ: 40 40 0 8320 41945920 15 903 941 0\n"
)


def stats(device: str, folder: str, read: int, written: int, kind: str = "nfs4") -> str:
    head = f"device {device} mounted on {folder} with fstype {kind} statvers=1.1\n"
    return head + STATS.format(read + 999, written + 999, read, written)


MOUNTSTATS = (
    "device overlay mounted on / with fstype overlay\n"
    + stats("127.0.0.1:/", "/mnt/efs", 5000, 700)
    + stats("127.0.0.1:/", r"/mnt/my\040output", 5001, 700)
    + stats("127.0.0.1:/", "/mnt/archive", 30, 4)
    + stats("10.0.0.9:/export", "/mnt/team", 10**12, 10**12)
)


def test_each_file_system_counts_once_and_what_others_share_not_at_all() -> None:
    assert count(MOUNTSTATS, MOUNTINFO) == Count(read=5031, written=704)


def test_mounts_over_ipv6_are_a_pods_own_too() -> None:
    here = stats("[::1]:/", "/mnt/efs", 8, 9, kind="nfs")
    assert count(here, MOUNTINFO) == Count(8, 9)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no mounts"),
        pytest.param("device /dev/sda1 mounted on / with fstype ext4\n", id="a disk"),
        pytest.param(stats("10.0.0.9:/export", "/mnt/team", 1, 1), id="a shared file server"),
    ],
)
def test_where_nothing_is_the_pods_own_nobody_knows(text: str) -> None:
    assert count(text, MOUNTINFO) is None


def test_the_kernels_files_of_this_machine_can_be_read() -> None:
    seen = read_count()
    assert seen is None or min(seen) >= 0


class Meter:
    """A volume whose counter the test turns, and what is told of it."""

    def __init__(self, began: Count | None) -> None:
        self.seen = began
        self.told: list[protocol.FromAgent] = []
        self.traffic = Traffic(self._send, lambda: self.seen)

    def _send(self, message: protocol.FromAgent) -> bool:
        self.told.append(message)
        return True


def test_what_was_moved_before_the_agent_began_is_not_its_own() -> None:
    meter = Meter(Count(100, 10))
    meter.seen = Count(150, 40)
    meter.traffic.tell(0.0)
    assert meter.told == [protocol.Traffic(read_bytes=50, written_bytes=30)]


def test_it_is_told_now_and_then_and_when_training_stops() -> None:
    meter = Meter(Count())
    for second in range(int(2 * TELL_SECONDS)):
        meter.traffic.tell(float(second))
    assert len(meter.told) == 2
    meter.traffic.tell(2 * TELL_SECONDS - 0.5, last=True)
    assert len(meter.told) == 3


def test_where_nobody_knows_nothing_is_told() -> None:
    meter = Meter(None)
    meter.traffic.tell(0.0, last=True)
    assert meter.told == []
