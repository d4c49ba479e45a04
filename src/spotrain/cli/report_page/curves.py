"""What the training did over time: its speed in each world, and the metrics that it told."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from spotrain.cli.report_page.moments import moment
from spotrain.cli.report_page.scale import Tick, TimeAxis, number, number_ticks, whole_life
from spotrain.cli.report_page.story import Story
from spotrain.counts import count
from spotrain.ledger.entries import MetricsEntry, WorldEntry
from spotrain.ledger.time_split import is_trained

HEIGHT: Final = 150
TOP: Final = 10
MOST_METRICS: Final = 6
MOST_VALUE: Final = 1e300
"""Of a metric: beyond it lies what has diverged, and differences that no float can hold."""
MOST_TIPS: Final = 120
"""Points that can be pointed at."""


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """What one world did, level from its first to its last step."""

    x: float
    width: float
    y: float
    title: str


@dataclass(frozen=True, kw_only=True)
class Tip:
    x: float
    width: float
    title: str


@dataclass(frozen=True, kw_only=True)
class Speed:
    unit: str
    strokes: tuple[Stroke, ...]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    highest: float
    height: float = TOP + HEIGHT


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One metric over the steps of the job."""

    name: str
    path: str
    """In a square of 1000."""
    tips: tuple[Tip, ...]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    first: str
    last: str
    least: str
    most: str
    points: int
    height: float = TOP + HEIGHT


def draw_speed(story: Story) -> Speed | None:
    """Samples a second, or steps where a script tells of no samples. None: nothing was measured."""
    counts_samples = all(world.samples_per_step > 0 for world in story.worlds if is_trained(world))
    unit = "samples/s" if counts_samples else "steps/s"
    measured = [
        (world, rate * (world.samples_per_step if counts_samples else 1))
        for world in story.worlds
        if (rate := world.steps_per_second) is not None
    ]
    if not measured:
        return None
    ticks = number_ticks(0, max(rate for _, rate in measured))
    axis = TimeAxis(whole_life(story.record.life))

    def stroke(world: WorldEntry, rate: float) -> Stroke:
        assert world.first_step_at
        assert world.last_step_at
        x = axis(world.first_step_at)
        return Stroke(
            x=x,
            width=max(0.1, axis(world.last_step_at) - x),
            y=_y(rate, ticks),
            title=f"World {world.number}, {count(world.size, 'worker')}: {number(rate)} {unit}.",
        )

    return Speed(
        unit=unit,
        strokes=tuple(stroke(world, rate) for world, rate in measured),
        x_ticks=axis.ticks(),
        y_ticks=_y_ticks(ticks),
        highest=max(rate for _, rate in measured),
    )


def draw_metrics(story: Story) -> tuple[list[Curve], list[str]]:
    """A curve for each metric, the loss first; and the names of those that have no room."""
    names = sorted(
        {name for entry in story.metrics for name in entry.values},
        key=lambda name: ("loss" not in name.lower(), name),
    )
    drawn = [curve for name in names if (curve := _curve(name, list(_points(name, story.metrics))))]
    return drawn[:MOST_METRICS], [curve.name for curve in drawn[MOST_METRICS:]]


Point = tuple[int, float, MetricsEntry]


def _points(name: str, told: Sequence[MetricsEntry]) -> Iterator[Point]:
    """Of a step that was done again, the last time counts."""
    kept: list[Point] = []
    for entry in told:
        value = entry.values.get(name)
        if value is None or not abs(value) < MOST_VALUE:  # nor is NaN
            continue
        while kept and kept[-1][0] >= entry.step:
            kept.pop()
        kept.append((entry.step, value, entry))
    yield from kept


def _curve(name: str, points: Sequence[Point]) -> Curve | None:
    """None: two points make a line."""
    if len(points) < 2:
        return None
    values = [value for _, value, _ in points]
    ticks = number_ticks(min(values), max(values))
    first, last = points[0][0], points[-1][0]

    def x(step: float) -> float:
        return 100 * (step - first) / (last - first)

    line = " L".join(
        f"{10 * x(step):.1f} {1000 * (_y(value, ticks) - TOP) / HEIGHT:.1f}"
        for step, value, _ in points
    )
    every = math.ceil(len(points) / MOST_TIPS)
    shown = points[::every]
    edges = [0.0, *((x(a[0]) + x(b[0])) / 2 for a, b in pairwise(shown)), 100.0]
    return Curve(
        name=name,
        path=f"M{line}",
        tips=tuple(
            Tip(
                x=round(left, 3),
                width=round(right - left, 3),
                title=f"{name} {number(value)} at step {step:,}, {moment(entry.at)}",
            )
            for (step, value, entry), left, right in zip(shown, edges, edges[1:], strict=False)
        ),
        x_ticks=list(_step_ticks(first, last)),
        y_ticks=_y_ticks(ticks),
        first=number(values[0]),
        last=number(values[-1]),
        least=number(min(values)),
        most=number(max(values)),
        points=len(points),
    )


def _step_ticks(first: int, last: int) -> Iterator[Tick]:
    inside = [v for v in number_ticks(first, last, most=5, whole=True) if first <= v <= last]
    for index, value in enumerate(inside):
        at = 100 * (value - first) / (last - first)
        anchor = "start" if at < 6 else "end" if at > 94 else "middle"
        yield Tick(at=round(at, 3), label=number(value), anchor=anchor, minor=index % 2 > 0)


def _y(value: float, ticks: Sequence[float]) -> float:
    share = (value - ticks[0]) / (ticks[-1] - ticks[0])
    return round(TOP + HEIGHT * (1 - share), 2)


def _y_ticks(values: Sequence[float]) -> list[Tick]:
    return [Tick(at=_y(value, values), label=number(value)) for value in values]
