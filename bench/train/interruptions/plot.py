"""Every trial as a dot, on a scale that shows a tenth of a second and a minute alike."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib

from bench.page import ROOT
from bench.train.peers.launchers import ALL

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "spotrain"  # the same file from the same data
from matplotlib import pyplot  # noqa: E402

FIGURES: Final = ROOT / "docs/figures"
COLORS: Final = dict(zip(ALL, ("#0b6e4f", "#63b995", "#e08e45", "#c0504d", "#7f7f7f"), strict=True))
NEVER: Final = 300.0
"""Where on the scale of seconds training that never went on is drawn."""


def draw(
    name: str,
    trials: Sequence[Mapping[str, Any]],
    key: str,
    title: str,
    folder: Path = FIGURES,
    kind: str = "svg",
) -> None:
    """Write docs/figures/<name>.svg."""
    rows = list(dict.fromkeys((t["case"], t["launcher"]) for t in trials))
    cases = list(dict.fromkeys(case for case, _ in rows))
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.3 * len(rows)), layout="constrained")
    for y, (case, launcher) in enumerate(rows):
        own = [t for t in trials if (t["case"], t["launcher"]) == (case, launcher)]
        seconds = [t[key] for t in own if not t["never"]]
        lost = [NEVER for t in own if t["never"]]
        axes.scatter(seconds, [y] * len(seconds), s=26, alpha=0.7, color=COLORS[launcher])
        axes.scatter(lost, [y] * len(lost), s=34, marker="x", color=COLORS[launcher])
    several = len(cases) > 1
    labels = [f"{case}: {ALL[name].about}" if several else ALL[name].about for case, name in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.05, 400)
    ticks = [0.1, 0.3, 1, 3, 10, 30, 100]
    axes.set_xticks([*ticks, NEVER], [*(f"{tick:g}" for tick in ticks), "never"])
    axes.minorticks_off()
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds")
    axes.set_title(title, fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(folder / f"{name}.{kind}", metadata=metadata, dpi=110)
    pyplot.close(figure)
