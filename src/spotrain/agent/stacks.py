"""Reading the stacks that faulthandler writes: which line of whose code a process is in. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

_FRAME: Final = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<name>.*)$')
_LIBRARIES: Final = re.compile(
    r"site-packages|dist-packages|/lib/python3|^<|/spotrain/(train|agent)/"
)
"""Files that are not the script's own."""


@dataclass(frozen=True)
class Frame:
    file: str
    line: str
    name: str

    @property
    def is_own(self) -> bool:
        """Whether it is in the user's code rather than in a library."""
        return not _LIBRARIES.search(self.file)

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line} {self.name}"


def threads(dump: str) -> list[list[Frame]]:
    """The threads of a dump, each from its innermost frame outwards; the main thread is last."""
    found: list[list[Frame]] = []
    for line in dump.splitlines():
        frame = _FRAME.match(line)
        if frame is None:
            if "most recent call first" in line:
                found.append([])
        elif found:
            found[-1].append(Frame(frame["file"], frame["line"], frame["name"]))
    return found


def place(dump: str) -> str:
    """Where the main thread is: the innermost line of the user's code, and what that waits in.

    "train.py:42 train", or "train.py:57 train, in group.py:61 agree".
    """
    main = next(reversed(threads(dump)), [])
    if not main:
        return ""
    own = next((frame for frame in main if frame.is_own), main[0])
    return str(own) if own is main[0] else f"{own}, in {main[0]}"


def busy(dumps: Iterable[str]) -> str:
    """Where a worker of a data loader is, if one is in the user's code; "" if all of them wait."""
    for dump in dumps:
        for frame in next(reversed(threads(dump)), []):
            # What started the worker is the user's code too: of interest is what it does since.
            if frame.name == "_worker_loop":
                break
            if frame.is_own:
                return str(frame)
    return ""


def outline(dump: str, most: int) -> str:
    """At most `most` characters of a dump, whole lines, the main thread first."""
    parts = re.split(r"(?m)^(?=(?:Current t|T)hread 0x)", dump.strip())
    text = "\n".join(part.strip() for part in reversed(parts) if part.strip())
    if len(text) <= most:
        return text
    return text[: max(0, most - 4)].rpartition("\n")[0] + "\n..."
