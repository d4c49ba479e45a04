"""Looking at a rank of a world that hangs: how far it came, and the stacks of its processes."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotrain.agent import stacks
from spotrain.agent.marks import STACKS_SIGNAL, Mark, read_mark, stacks_path

STACK_SECONDS: Final = 0.5
"""A process that has not written a line of its stacks by then will not."""
QUIET_SECONDS: Final = 0.05
"""Stacks that have not grown for so long are whole: nothing marks their end."""
MAX_LOADER_WORKERS: Final = 16
_STATES: Final = {
    "T": "stopped by a signal",
    "t": "stopped by a debugger",
    "D": "waiting for a disk or a network file system",
    "Z": "ended",
}


@dataclass(frozen=True)
class Finding:
    """What could be seen of one rank from outside."""

    local_rank: int
    mark: Mark | None
    place: str
    """The line its main thread is in, or what keeps it from saying so."""
    dump: str
    """The stacks of all its threads, then those of its data loader's workers."""


def inspect(folder: Path, local_rank: int) -> Finding:
    """Look at one rank; takes a second or so, whatever state it is in."""
    try:
        return _look(folder, local_rank, read_mark(folder, local_rank))
    except OSError as error:  # its agent has just ended it, and removed the folder
        return Finding(local_rank, None, f"gone: {error}", "")


def _look(folder: Path, local_rank: int, mark: Mark | None) -> Finding:
    if mark is None or mark.pid <= 0:
        return Finding(local_rank, None, "still starting, or without the training library", "")
    path = stacks_path(folder, local_rank)
    dump = _ask_for_stacks(mark.pid, path)
    if not dump:
        state = _STATES.get(_state(mark.pid), "not answering")
        return Finding(local_rank, mark, state, "")
    workers = _stacks_of_workers(mark.pid, path)
    place = stacks.place(dump)
    if data := stacks.busy(workers):
        place = f"{place}, its data loader in {data}"
    return Finding(local_rank, mark, place, "\n".join([dump, *workers]))


def _stacks_of_workers(pid: int, path: Path) -> list[str]:
    """A data loader's workers answer the same signal; started by `forkserver`, they are children of
    a child of the rank."""
    give_up = time.monotonic() + STACK_SECONDS
    dumps = []
    workers = [child for child in _descendants(pid) if _catches_signal(child)]
    for child in workers[:MAX_LOADER_WORKERS]:
        if time.monotonic() < give_up and (dump := _ask_for_stacks(child, path)):
            dumps.append(f"Worker of the data loader, process {child}:\n{dump}")
    return dumps


def _ask_for_stacks(pid: int, path: Path) -> str:
    """What the process writes on the signal; "" if it does not take it, or is stopped."""
    if not _catches_signal(pid) or _state(pid) in ("T", "t", "Z"):
        return ""
    before = size = path.stat().st_size
    try:
        os.kill(pid, STACKS_SIGNAL)
    except ProcessLookupError:
        return ""
    give_up = time.monotonic() + STACK_SECONDS
    grown_at = time.monotonic()
    while time.monotonic() < give_up:
        time.sleep(0.01)
        now = path.stat().st_size
        if now > size:
            size, grown_at = now, time.monotonic()
        elif size > before and time.monotonic() >= grown_at + QUIET_SECONDS:
            break
    with path.open("rb") as file:
        file.seek(before)
        return file.read().decode("ascii", "replace").strip()


def _descendants(pid: int) -> list[int]:
    """Children first, then theirs."""
    found = [pid]
    for parent in found:  # which grows meanwhile
        for task in _read_lines(f"/proc/{parent}/task/{parent}/children"):
            found += map(int, task.split())
    return found[1:]


def _catches_signal(pid: int) -> bool:
    """Whether it has a handler: a process without one would be ended by the signal."""
    for line in _read_lines(f"/proc/{pid}/status"):
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (STACKS_SIGNAL - 1) & 1)
    return False


def _state(pid: int) -> str:
    """The letter that the kernel has for it; "" if there is no such process."""
    for line in _read_lines(f"/proc/{pid}/status"):
        if line.startswith("State:"):
            return line.split()[1]
    return ""


def _read_lines(path: str) -> Iterable[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return ()
