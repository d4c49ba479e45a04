"""A process that this one has not started itself, but is the parent of."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

POLL_SECONDS = 0.005


class Forked:
    """As much of `subprocess.Popen` as torch asks of a rank."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = 1  # somebody else has waited for it, so how it ended is unknown
            else:
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        give_up = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if give_up is not None and time.monotonic() >= give_up:
                assert timeout is not None
                raise subprocess.TimeoutExpired(f"rank of pid {self.pid}", timeout)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def reap_orphans(own: set[int | None]) -> None:
    """Wait for processes that ranks have left behind, which would stay as zombies.

    They live in the sessions of their ranks; what else this process may have started lives in its
    own session, and is waited for by whoever started it.
    """
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                pid = int(child)
                if pid not in own and os.getsid(pid) != os.getsid(0):
                    os.waitpid(pid, os.WNOHANG)
