"""Notices: signals that tell an agent to save and leave, and the time that it has for that."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from torch.distributed.elastic.multiprocessing import SignalException

RELEASE_SECONDS = 2.0
"""A drained worker on notice waits this long for its release, then leaves by itself."""


@dataclass(frozen=True)
class Notice:
    """SIGTERM, or Ctrl-C: this worker is to stop, and to save what it has done."""


class Left(Exception):
    """Ends the loop: the worker left after a notice."""


@dataclass
class Signals:
    interrupted: bool = False


@contextlib.contextmanager
def notices_to(take: Callable[[Notice], None]) -> Iterator[Signals]:
    """SIGTERM and the first Ctrl-C are handed to `take`; the second Ctrl-C ends the agent."""
    seen = Signals()

    def on_term(_signal: int, _frame: FrameType | None) -> None:
        take(Notice())

    def on_interrupt(number: int, _frame: FrameType | None) -> None:
        if seen.interrupted:
            raise SignalException("interrupted twice", sigval=signal.Signals(number))
        seen.interrupted = True
        os.write(2, b"spotrain-run: saving, then leaving; press Ctrl-C again to stop at once\n")
        take(Notice())

    before = signal.signal(signal.SIGTERM, on_term), signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


class Departure:
    """How far an agent is on its way out. Without a notice it is not on its way."""

    def __init__(self, grace_seconds: float) -> None:
        self.grace_seconds = grace_seconds
        self._leave_by: float | None = None
        self._released_by: float | None = None

    @property
    def is_announced(self) -> bool:
        return self._leave_by is not None

    def announce(self, now: float) -> None:
        self._leave_by = now + self.grace_seconds

    def seconds_left(self, now: float) -> float | None:
        """Until the machine is gone; None without a notice."""
        return None if self._leave_by is None else max(0.0, self._leave_by - now)

    def drained(self, now: float) -> None:
        """The world has stopped and is saved: what is left is to be released."""
        if self.is_announced:
            self._released_by = now + RELEASE_SECONDS

    def is_released(self, now: float) -> bool:
        return self._released_by is not None and now >= self._released_by

    def is_late(self, now: float) -> bool:
        """Whether what is left of the notice is needed to end the processes."""
        return self._leave_by is not None and now >= self._leave_by - 0.1 * self.grace_seconds
