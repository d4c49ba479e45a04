"""A command in a pseudo-terminal, as somebody sits before it."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

READ_BYTES = 65536
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_LINE_ENDS = re.compile(r"\r+\n?")
"""A line that is written over another one begins with a carriage return alone."""


class Terminal:
    def __init__(self, screen: int, process: "subprocess.Popen[bytes]") -> None:
        self._screen = screen
        self.process = process
        self.raw = ""

    @property
    def text(self) -> str:
        """All that was ever shown, without colours and movements of the cursor."""
        return _LINE_ENDS.sub("\n", _CONTROLS.sub("", self.raw))

    def read_until(self, shown: str) -> None:
        """Raises AssertionError where the command ends before."""
        while shown not in self.text:
            assert self._read(), f"the command ended without showing {shown!r}:\n{self.text}"

    def read_to_end(self) -> int:
        """The exit code."""
        while self._read():
            pass
        return self.process.wait()

    def press(self, key: bytes) -> None:
        os.write(self._screen, key)

    def _read(self) -> bool:
        try:
            found = os.read(self._screen, READ_BYTES)
        except OSError:  # Linux: the last process on the other side is gone
            return False
        self.raw += found.decode(errors="replace")
        return bool(found)


CTRL_C = b"\x03"


SPOTRAIN = (sys.executable, "-m", "spotrain.cli")


@contextmanager
def terminal(
    *words: str,
    folder: Path,
    environment: Mapping[str, str],
    columns: int = 80,
    program: Sequence[str] = SPOTRAIN,
) -> Iterator[Terminal]:
    """`spotrain` with these words; it is killed where it has not ended with the context."""
    screen, other = pty.openpty()
    process = subprocess.Popen(
        [*program, *words],
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"},
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(other)
    try:
        yield Terminal(screen, process)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _take_terminal() -> None:
    """Ctrl-C reaches the processes of the terminal that controls them."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background has it ignored
