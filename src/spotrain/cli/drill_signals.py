"""A drill that is broken off undoes what it has done: however it is told to end, and only once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

ENDS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Beside Ctrl-C, which raises KeyboardInterrupt: told to end, and a terminal that is closed."""


@contextmanager
def ends_tidily() -> Iterator[None]:
    """Let each of `ENDS` leave the context by an exception, as Ctrl-C does."""
    before = {number: signal.signal(number, _leave) for number in ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A second signal does not cut off what the first one has to undo."""
    numbers = (signal.SIGINT, *ENDS)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
