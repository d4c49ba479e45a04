"""Where moments and numbers lie on an axis, and which of them are written there."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from spotrain.ledger.time_split import Span

MOST_TICKS: Final = 7
LEAST: Final = 1e-300
"""Below it floats lose their digits: it counts as 0."""
_STEPS: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(86400 * days for days in (1, 2, 7, 14, 28, 91, 182, 365, 3650)),
)
"""Seconds between two ticks that people count in."""
_EDGE: Final = 6.0
"""Percent: labels nearer to an end do not stand in the middle of their tick, or they would stick
out."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    """Along its axis: percent for x, pixels for y."""
    label: str
    anchor: str = "middle"
    minor: bool = False
    """Left out where there is little room."""


@dataclass(frozen=True)
class TimeAxis:
    span: Span

    def __call__(self, at: datetime) -> float:
        """Percent of the width; what lies outside is drawn at the end."""
        share = (at - self.span.since).total_seconds() / self._seconds
        return round(100 * min(1.0, max(0.0, share)), 3)

    def ticks(self) -> list[Tick]:
        step = next((s for s in _STEPS if self._seconds / s <= MOST_TICKS), _STEPS[-1])
        first = math.ceil(self.span.since.timestamp() / step) * step
        found: list[Tick] = []
        while first <= self.span.until.timestamp():
            moment = datetime.fromtimestamp(first, UTC)
            at = self(moment)
            found.append(
                Tick(
                    at=at, label=_label(moment, step), anchor=_anchor(at), minor=len(found) % 2 > 0
                )
            )
            first += step
        return found

    @property
    def _seconds(self) -> float:
        return max(1.0, self.span.seconds)


def number_ticks(low: float, high: float, *, most: int = 4, whole: bool = False) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`."""
    size = max(abs(low), abs(high))
    # Numbers that hardly differ are drawn as one: an axis cannot have more digits than they have.
    if (spread := high - low) <= max(1e-9 * size, LEAST):
        spread = size if size > LEAST else 1.0
    least = 10.0 ** math.floor(math.log10(spread / most))
    step = next(least * by for by in (1, 2, 5, 10, 20) if spread / (least * by) <= most)
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [index * step for index in range(first, last + 1)]


def number(value: float) -> str:
    """At most four figures: 1.25M, 1,250, 41.3, 0.082, 3e-05."""
    if value == 0:
        return "0"
    size = abs(value)
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e5, "k")):
        if size >= least:
            return f"{value / (1e3 if unit == 'k' else least):.3g}{unit}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _label(at: datetime, step: int) -> str:
    if step < 60:
        return f"{at:%H:%M:%S}"
    if step < 86400 and (at.hour, at.minute) != (0, 0):
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}"


def _anchor(at: float) -> str:
    if at < _EDGE:
        return "start"
    return "end" if at > 100 - _EDGE else "middle"


def whole_life(span: Span) -> Span:
    """A second at least, so that it has a width."""
    return Span(span.since, max(span.until, span.since + timedelta(seconds=1)))
