"""Where a rank is, for when its world hangs: its last step, and on request its threads' stacks.

The rank keeps four numbers in a file that is mapped into memory (writing them costs a microsecond),
so that its agent can read them whatever the rank does or fails to do. A signal makes Python's
faulthandler write the stacks beside them; it needs neither the interpreter's lock nor rights that
pods lack, unlike a debugger. Nothing is needed for it but the standard library.
"""

import faulthandler
import mmap
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from spotrain import contract

STACKS_SIGNAL: Final = getattr(signal, "SIGRTMAX", signal.SIGUSR2)
"""Scripts and launchers use SIGUSR1 and SIGUSR2 for purposes of their own."""

_FORMAT: Final = "4q"
_kept: Final[list[BinaryIO]] = []
"""faulthandler keeps no more than the number of a file, which would be closed."""


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
        _write_stacks_to(stacks_path(folder, local_rank))
        self._numbers[0] = os.getpid()

    def set(self, world: int, step: int, batches: int) -> None:
        numbers = self._numbers
        numbers[1], numbers[2], numbers[3] = world, step, batches


def answer_for_rank() -> None:
    """Have this process asked for its stacks too: a child of a rank that is no fork of it.

    A fork has it from its rank. What is started otherwise, such as a data loader's worker by
    `spawn` or `forkserver`, has the rank's environment only. Outside of an agent nobody asks.
    """
    folder, local_rank = os.environ.get(contract.ENV_CONTROL), os.environ.get("LOCAL_RANK")
    if folder and local_rank and Path(folder).is_dir():
        _write_stacks_to(stacks_path(Path(folder), int(local_rank)))


def _write_stacks_to(path: Path) -> None:
    """On the signal. Appending, as several processes write there."""
    file = path.open("ab", buffering=0)
    faulthandler.register(STACKS_SIGNAL, file=file, all_threads=True)
    _kept.append(file)


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
