"""What is saved on each trace, as dots in a row for each who was compared."""

from pathlib import Path
from typing import Any, Final

import matplotlib

from bench.cost.report import GOAL
from bench.page import ROOT

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "spotrain"  # the same file from the same data
from matplotlib import pyplot  # noqa: E402

FIGURES: Final = ROOT / "docs/figures"
MARKS: Final = (("#0b6e4f", "o"), ("#c0504d", "s"), ("#3b6fb6", "^"), ("#e0a030", "D"))
LEAST: Final = -10.0
"""In per cent, where the scale begins."""


def draw(found: dict[str, Any], folder: Path = FIGURES, kind: str = "svg") -> None:
    """Write docs/figures/cost.svg."""
    names = list(dict.fromkeys(row["who"] for row in found["rows"]))
    traces = [trace["trace"] for trace in found["traces"]]
    figure, axes = pyplot.subplots(figsize=(8, 1.4 + 0.32 * len(names)), layout="constrained")
    for number, (trace, (color, marker)) in enumerate(zip(traces, MARKS, strict=True)):
        saved = [row["saved"] for row in found["rows"] if row["trace"] == trace]
        shift = 0.13 * (number - (len(traces) - 1) / 2)
        axes.scatter(
            [max(LEAST, 100 * (share if share is not None else -1)) for share in saved],
            [place + shift for place in range(len(names))],
            s=30,
            color=color,
            marker=marker,
            label=trace,
            clip_on=False,
            zorder=3,
        )
    axes.axvline(100 * GOAL, color="#888888", linewidth=1, linestyle="--")
    axes.text(100 * GOAL - 0.7, -0.75, "goal", fontsize=7, color="#666666", ha="right")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -1)
    axes.set_xlim(LEAST, 75)
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    axes.set_xlabel("saved against on-demand nodes for the same useful work, per cent")
    axes.legend(loc="upper left", fontsize=8, title="trace", title_fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(folder / f"cost.{kind}", metadata=metadata, dpi=110)
    pyplot.close(figure)
