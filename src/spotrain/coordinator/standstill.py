"""Noticing that this process stood still: stopped, starved, or on a machine that was paused."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK_SECONDS = 0.5


class Standstill:
    """Looks at the clock while it is watched, and says when the last look was too long ago.

    By a timer of the event loop's, not by a task: after a standstill it comes before anything that
    is learnt from connections, whose ends say nothing about the peers by then.
    """

    def __init__(
        self,
        noticed: Callable[[float], None],
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`noticed` is called with the length of a standstill of `seconds` or more."""
        self._noticed = noticed
        self._seconds = seconds
        self._clock = clock
        self._watchers = 0
        self._looked_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """May be entered any number of times at once."""
        self._watchers += 1
        if self._watchers == 1:
            self._look_later()
        try:
            yield
        finally:
            self._watchers -= 1
            if self._watchers == 0 and self._timer is not None:
                self._timer.cancel()

    def _look_later(self) -> None:
        self._looked_at = self._clock()
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        stood = self._clock() - self._looked_at - LOOK_SECONDS
        self._look_later()
        if stood >= self._seconds:
            self._noticed(stood)
