"""How often the ranks of a world ask each other whether to stop. Pure.

An answer costs 0.4 ms of a step where cores are scarce, so steps that take milliseconds are not
asked at one by one. All ranks must ask at the same steps, though each one measures another time;
so each proposes a number of steps along with its wish, and the largest holds for all.
"""

from typing import Final

AIM_SECONDS: Final = 0.1
"""Between two questions. A notice gives seconds to minutes."""
MOST_STEPS: Final = 8
"""Between two questions, for steps may become slower by far from one to the next."""
_BASE: Final = 256


class Rhythm:
    """One rank's count of steps in a world."""

    def __init__(self) -> None:
        self._steps = 0
        self._next = 0
        """The step of the next question."""
        self._asked: tuple[int, float] | None = None
        """Step and time of the last one."""

    def is_due(self) -> bool:
        """Whether to ask at this step; to be called once at each."""
        self._steps += 1
        return self._steps > self._next

    def ask(self, wish: int, now: float) -> int:
        """The number that goes over the network at this step; the largest of all is the answer."""
        steps = 1
        if self._asked is not None:
            since, at = self._asked
            seconds = (now - at) / (self._steps - since)
            steps = max(1, min(MOST_STEPS, int(AIM_SECONDS / max(seconds, 1e-9))))
        self._asked = (self._steps, now)
        return wish * _BASE + steps

    def answer(self, number: int) -> int:
        """The largest wish; the next question waits as long as all ranks have agreed on."""
        assert self._asked is not None
        wish, steps = divmod(number, _BASE)
        self._next = self._asked[0] + steps - 1
        return wish
