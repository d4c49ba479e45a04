"""How often a line tells of a job where nothing is redrawn in place."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

LEAST_SECONDS: Final = 5.0
"""Between two lines that tell only that it goes on."""
MOST_SECONDS: Final = 60.0
SHARE: Final = 60
"""The pause is this part of the time that it was watched, so that days of it stay readable."""


@dataclass
class Pace:
    """Usage: `if pace.is_due(news, line): print(line)`."""

    clock: Callable[[], float] = time.monotonic
    _news: str = ""
    _line: str = ""
    _began: float = field(init=False)
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._next = self._began + LEAST_SECONDS

    def is_due(self, news: str, line: str) -> bool:
        """At once where there is news; else after a while, if the line tells anything new.

        `news`: what is worth a line at once; the same as last time, or empty, is not.
        """
        now = self.clock()
        if news == self._news and (line == self._line or now < self._next):
            return False
        self._news, self._line = news, line
        watched = now - self._began
        self._next = now + min(max(LEAST_SECONDS, watched / SHARE), MOST_SECONDS)
        return True
