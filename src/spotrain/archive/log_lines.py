"""A container's log as the kubelet streams it: a time and a text a line. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

LONGEST_LINE: Final = 64 * 1024
"""Bytes that are kept of one line; whoever prints more without a line feed loses the rest of it."""
CUT: Final = b" ... [cut]"
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class LineSplitter:
    """Bytes in pieces to lines, in bounded memory."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._dropped = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their line feed."""
        *whole, rest = data.split(b"\n")
        lines = []
        for piece in whole:
            self._add(piece)
            lines.append(self._take())
        self._add(rest)
        return lines

    def end(self) -> list[bytes]:
        """What was begun and never ended."""
        return [self._take()] if self._begun else []

    def _add(self, piece: bytes) -> None:
        room = LONGEST_LINE - len(self._begun)
        self._begun += piece[:room]
        self._dropped = self._dropped or len(piece) > room

    def _take(self) -> bytes:
        line = bytes(self._begun) + (CUT if self._dropped else b"")
        self._begun.clear()
        self._dropped = False
        return line


def parse_line(line: bytes) -> tuple[str, str] | None:
    """(time in UTC with nine digits after the second, text); None: it begins with no time."""
    time, _, text = line.decode(errors="replace").partition(" ")
    at = normalize_time(time)
    return (at, text.rstrip("\r")) if at else None


def normalize_time(text: str) -> str:
    """The same moment such that moments sort as text; empty: it is none."""
    if not (match := _TIME.fullmatch(text)):
        return ""
    try:
        second = datetime.fromisoformat(match[1] + match[3]).astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return f"{second:%Y-%m-%dT%H:%M:%S}.{(match[2] or '').ljust(9, '0')}Z"


@dataclass(frozen=True)
class Cursor:
    """How far the log of a pod is kept: so many lines of that moment, and all of earlier ones."""

    at: str = ""
    lines: int = 0

    def advance(self, at: str) -> "Cursor":
        return Cursor(at, self.lines + 1) if at == self.at else Cursor(at, 1)

    @property
    def since(self) -> str:
        """The second from which to read on: that is all that a kubelet is asked by."""
        return f"{self.at[:19]}Z" if self.at else ""


class Resumption:
    """Tells which lines are new when a log is read again from the cursor's second on."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._seen = 0
        self._passed = not cursor.at

    def is_new(self, at: str) -> bool:
        """To be asked of every line in turn."""
        if self._passed:
            return True
        if at < self._cursor.at:
            return False
        if at == self._cursor.at:
            self._seen += 1
            return self._seen > self._cursor.lines
        self._passed = True
        return True
