"""The figures of docs/performance.md: all drawn alike, and the same file from the same data."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "spotrain"
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure as Drawing  # noqa: E402

GREEN: Final = "#0b6e4f"
PALE_GREEN: Final = "#63b995"
ORANGE: Final = "#e08e45"
RED: Final = "#c0504d"
GREY: Final = "#7f7f7f"
BLACK: Final = "#333333"
BLUE: Final = "#3b6fb6"
WIDTH: Final = 8.0
"""Inches, as the heights."""
LABEL_LETTERS: Final = 38
"""Of a line: rows of long names leave too little room for the dots."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one colour: values by the row that they are drawn in. Infinity is never."""

    label: str
    color: str
    rows: Mapping[str, Sequence[float]]
    marker: str = "o"


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Every value as a dot, in rows; series that share a row lie side by side in it."""

    title: str
    unit: str
    series: Sequence[Series]
    ticks: Sequence[float] = ()
    """On a logarithmic scale, if there are any: a tenth of a second and a minute alike."""
    never: float | None = None
    """Where on such a scale those are drawn that never came to an end, as crosses."""
    limits: tuple[float, float] | None = None
    """Of the scale; what lies below is drawn at its beginning."""
    goal: float | None = None
    order: Sequence[str] = ()
    """Of the rows; those that are not in it follow, as the series have them."""

    @property
    def rows(self) -> list[str]:
        present = dict.fromkeys(row for series in self.series for row in series.rows)
        first = [row for row in self.order if row in present]
        return first + [row for row in present if row not in first]

    @property
    def is_shared(self) -> bool:
        """Whether a row has more than one series, which then need a legend."""
        return sum(len(series.rows) for series in self.series) > len(self.rows)

    def draw(self) -> Drawing:
        rows = self.rows
        figure, axes = pyplot.subplots(
            figsize=(WIDTH, 1.3 + 0.32 * len(rows)), layout="constrained"
        )
        for place, row in enumerate(rows):
            present = [series for series in self.series if row in series.rows]
            for number, series in enumerate(present):
                shift = 0.5 * ((number + 0.5) / len(present) - 0.5)
                self._mark(axes, place + shift, series, series.rows[row])
        labels = [textwrap.fill(row, LABEL_LETTERS) for row in rows]
        axes.set_yticks(range(len(rows)), labels, fontsize=8)
        axes.set_ylim(len(rows) - 0.5, -0.7)
        self._scale(axes)
        if self.goal is not None:
            axes.axvline(self.goal, color="#888888", linewidth=1, linestyle="--")
            axes.annotate(
                "goal",
                (self.goal, -0.66),
                (-2, 0),
                textcoords="offset points",
                fontsize=7,
                color="#666666",
                ha="right",
                va="top",
            )
        if self.is_shared:
            legend(figure, axes)
        figure.suptitle(self.title, fontsize=10)
        finish(axes, unit=self.unit)
        return figure

    def _mark(self, axes: Axes, place: float, series: Series, values: Sequence[float]) -> None:
        least = self.limits[0] if self.limits else -math.inf
        there = [max(least, value) for value in values if value < math.inf]
        axes.scatter(
            there,
            [place] * len(there),
            s=22,
            alpha=0.65,
            color=series.color,
            marker=series.marker,
            label=series.label,
            linewidths=0,
            clip_on=False,
            zorder=3,
        )
        lost = len(values) - len(there)
        if lost and self.never is not None:
            axes.scatter([self.never] * lost, [place] * lost, s=34, marker="x", color=series.color)

    def _scale(self, axes: Axes) -> None:
        if self.limits:
            axes.set_xlim(*self.limits)
        if not self.ticks:
            return
        axes.set_xscale("log")
        ticks = {tick: f"{tick:,g}" for tick in self.ticks}
        if self.never is not None:
            ticks[self.never] = "never"
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.minorticks_off()


@dataclass(frozen=True, kw_only=True)
class Line:
    label: str
    color: str
    points: Sequence[tuple[float, float]]
    style: str = "-"


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Panels side by side on the same scale, each with the same lines."""

    title: str
    unit: str
    height: str
    """What the vertical scale shows."""
    panels: Sequence[Sequence[Line]]

    def draw(self) -> Drawing:
        figure, every = pyplot.subplots(
            1,
            len(self.panels),
            figsize=(WIDTH, 3.2),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for number, (axes, lines) in enumerate(zip(every[0], self.panels, strict=True), start=1):
            for line in lines:
                axes.plot(
                    [x for x, _ in line.points],
                    [y for _, y in line.points],
                    line.style,
                    color=line.color,
                    label=line.label,
                    linewidth=1.6,
                )
            axes.set_ylim(bottom=0)
            axes.set_title(f"part {number} of {len(self.panels)}", fontsize=8)
            finish(axes, unit=self.unit)
        every[0][0].set_ylabel(self.height)
        figure.suptitle(self.title, fontsize=10)
        legend(figure, every[0][0])
        return figure


Picture = Dots | Lines


def legend(figure: Drawing, axes: Axes) -> None:
    """Each label once, below the figure: there it hides no dot."""
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=min(4, len(handles)),
        fontsize=8,
        frameon=False,
    )


def finish(axes: Axes, *, unit: str) -> None:
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.set_xlabel(unit)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save(picture: Picture, name: str, folder: Path, kind: str = "svg") -> None:
    """Write <folder>/<name>.<kind>."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = picture.draw()
    metadata: dict[str, Any] | None = {"Date": None} if kind == "svg" else None
    figure.savefig(folder / f"{name}.{kind}", metadata=metadata, dpi=110)
    pyplot.close(figure)
