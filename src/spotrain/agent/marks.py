"""Where a rank is, for when its world hangs: its last step, and on request its threads' stacks.

The rank keeps four numbers in a file that is mapped into memory (writing them costs a microsecond),
so that its agent can read them whatever the rank does or fails to do. A signal makes Python's
faulthandler write the stacks beside them; it needs neither the interpreter's lock nor rights that
pods lack, unlike a debugger. Only the standard library is used here.
"""

import faulthandler
import mmap
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STACKS_SIGNAL: Final = getattr(signal, "SIGRTMAX", signal.SIGUSR2)
"""Scripts and launchers use SIGUSR1 and SIGUSR2 for purposes of their own."""

_FORMAT: Final = "4q"


@dataclass(frozen=True)
class Mark:
    """The last place that a rank has told; of world 0 before its first one."""

    pid: int
    world: int
    step: int
    """Global steps done."""
    batches: int
    """Batches taken since that step."""


class Marks:
    """The rank's side: `set` at every step and batch."""

    def __init__(self, folder: Path, local_rank: int) -> None:
        with _marks_path(folder, local_rank).open("w+b") as file:
            file.truncate(struct.calcsize(_FORMAT))
            memory = mmap.mmap(file.fileno(), struct.calcsize(_FORMAT))
        self._numbers = memoryview(memory).cast("q")
        # Appending, as the workers of a data loader inherit the file and the signal's handler.
        self._stacks = stacks_path(folder, local_rank).open("ab", buffering=0)
        faulthandler.register(STACKS_SIGNAL, file=self._stacks, all_threads=True)
        self._numbers[0] = os.getpid()

    def set(self, world: int, step: int, batches: int) -> None:
        numbers = self._numbers
        numbers[1], numbers[2], numbers[3] = world, step, batches


def read_mark(folder: Path, local_rank: int) -> Mark | None:
    """What the rank has told last; None if it has not come so far, or does not speak to us."""
    try:
        return Mark(*struct.unpack(_FORMAT, _marks_path(folder, local_rank).read_bytes()))
    except (OSError, struct.error):
        return None


def stacks_path(folder: Path, local_rank: int) -> Path:
    return folder / f"stacks-{local_rank}"


def _marks_path(folder: Path, local_rank: int) -> Path:
    return folder / f"marks-{local_rank}"
