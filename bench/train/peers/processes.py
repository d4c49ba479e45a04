"""Finds and ends the processes of a trial by a mark in their environment, whoever started them."""

import contextlib
import os
import signal
from pathlib import Path


def find(name: str, value: str) -> list[int]:
    """Processes with this variable in the environment that they were started with.

    A worker's ranks run in sessions of their own, and lose their parent when it is killed: what
    they inherited is what still tells whose they are.
    """
    mark = f"{name}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # ended meanwhile, or another user's
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def send(pids: list[int], sign: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
