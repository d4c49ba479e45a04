"""Every round as a dot, ours and kubectl's, line by line."""

from pathlib import Path
from typing import Any, Final

import matplotlib

from bench.command.report import ABOUT
from bench.page import ROOT

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "spotrain"  # the same file from the same data
from matplotlib import pyplot  # noqa: E402

FIGURES: Final = ROOT / "docs/figures"
WHO: Final = (
    ("ours", "spotrain", "#0b6e4f", "o", -0.2),
    ("theirs", "kubectl", "#e08e45", "s", 0.0),
    ("server", "the API server by itself", "#7f7f7f", "|", 0.2),
)


def draw(found: dict[str, Any], folder: Path = FIGURES, kind: str = "svg") -> None:
    """Write docs/figures/command.svg."""
    rounds, keys = found["rounds"], list(ABOUT)
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.32 * len(keys)), layout="constrained")
    for who, label, color, marker, shift in WHO:
        points = [
            (1000 * row[key][who]["seconds"], place + shift)
            for place, key in enumerate(keys)
            for row in rounds
            if who in row[key]
        ]
        axes.scatter(
            [x for x, _ in points],
            [y for _, y in points],
            s=16,
            alpha=0.6,
            color=color,
            marker=marker,
            label=label,
        )
    axes.set_yticks(range(len(keys)), [ABOUT[key].replace("`", "") for key in keys], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [30, 100, 300, 1000, 3000]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.set_xlabel("milliseconds")
    axes.legend(loc="lower right", fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(folder / f"command.{kind}", metadata=metadata, dpi=110)
    pyplot.close(figure)
