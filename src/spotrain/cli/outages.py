"""Whoever does not answer any more while something is followed: waited for, and said so."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from spotrain.cli.errors import UserError
from spotrain.cli.output import say
from spotrain.cli.refusals import NotAllowed, NotAnswering
from spotrain.cli.wording import span

T = TypeVar("T")
AWAY_SECONDS: Final = 90.0
"""An API server that is replaced, or a way to it that changes, takes less."""
PAUSE_SECONDS: Final = 1.0
"""Between two tries."""
STEADY_SECONDS: Final = 10.0
"""Who has answered for so long, and then does not, is away anew."""


@dataclass
class Patience:
    """Usage: `patience.answered()` at every answer, `patience.wait(error)` where none came."""

    who: str
    """As the remark names it: the cluster."""
    tell: Callable[[str], None] = say
    _first_answer: float | None = None
    """Since the last try."""
    _away_since: float | None = None
    has_answered: bool = False
    """Ever."""

    def answered(self) -> None:
        self.has_answered = True
        if self._first_answer is None:
            self._first_answer = time.monotonic()

    def wait(self, error: UserError) -> None:
        """Before the next try. Raises `error` where there is to be none: nobody has ever answered,
        which no waiting mends, or not for AWAY_SECONDS, or who was not away answers with a no."""
        if not self.has_answered:
            raise error
        now = time.monotonic()
        was_steady = self._first_answer and now - self._first_answer >= STEADY_SECONDS
        if self._away_since is None or was_steady:
            # One that has been away is waited for through this too: an API server that has just
            # begun has not read yet who may do what, and refuses everybody.
            if isinstance(error, NotAllowed):
                raise error
            self._away_since = now
            self.tell(f"{self.who} does not answer; waiting for it, {span(AWAY_SECONDS)} at most.")
        elif now - self._away_since >= AWAY_SECONDS:
            raise error
        self._first_answer = None
        time.sleep(PAUSE_SECONDS)


def outlasting(begin: Callable[[], Iterator[T]]) -> Iterator[T]:
    """What `begin` yields, begun anew where the cluster does not answer any more.

    Raises NotAnswering, NotAllowed where it has not answered even once, or stays away.
    """
    patience = Patience("the cluster")
    while True:
        try:
            for item in begin():
                patience.answered()
                yield item
            return
        except (NotAnswering, NotAllowed) as error:
            patience.wait(error)
