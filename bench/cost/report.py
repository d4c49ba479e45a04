"""What docs/performance.md shows of what jobs save. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bench.cost.compare import DISCOUNT, ORACLE, OURS
from bench.figure import BLUE, GREEN, ORANGE, RED, Dots, Series
from bench.page import met, table

GOAL: Final = 0.65
JUDGED: Final = ("p3", "g4dn")
OF_ORACLE: Final = 0.95
MARKS: Final = ((GREEN, "o"), (RED, "s"), (BLUE, "^"), (ORANGE, "D"))
CLAIMED_EFFICIENCY: Final = (0.5, 0.625)
"""Of 64 GPUs beside 4: the speed-up of 8 to 10 times that others report, over 16."""


def block(found: dict[str, Any]) -> str:
    figures = found["figures"]
    shown = [
        f"a planned change {figures['planned']['seconds']:g} s ({figures['planned']['source']})",
        f"a loss {figures['loss']['seconds']:g} s ({figures['loss']['source']})",
        f"a checkpoint {figures['save']['seconds']:g} s ({figures['save']['source']})",
    ]
    rivals = [
        f"tuned {figures['tuned']['seconds']:g} s",
        f"stock {figures['stock']['seconds']:g} s ({figures['stock']['source']})",
        f"a checkpoint {figures['torch_save']['seconds']:g} s",
    ]
    names = [trace["trace"] for trace in found["traces"]]
    lines = [
        f"Ours: {'; '.join(shown)}. torchrun: {'; '.join(rivals)}. Saved at a discount of "
        f"{DISCOUNT:.0%} (goodput):",
        "",
        table(("who", *(_heading(trace) for trace in found["traces"])), _rows(found, names)),
        "",
        table(("goal", "trace", "measured", ""), _goals(found)),
    ]
    return "\n".join(lines)


def figure(found: dict[str, Any]) -> Dots:
    names = [trace["trace"] for trace in found["traces"]]
    series = [
        Series(
            label=f"trace {name}",
            color=color,
            marker=marker,
            rows={
                row["who"]: [-math.inf if row["saved"] is None else 100 * row["saved"]]
                for row in found["rows"]
                if row["trace"] == name
            },
        )
        for name, (color, marker) in zip(names, MARKS, strict=True)
    ]
    return Dots(
        title="Saved on each trace",
        unit="saved against on-demand nodes for the same useful work, per cent",
        series=series,
        limits=(-10, 75),
        goal=100 * GOAL,
    )


def _heading(trace: dict[str, Any]) -> str:
    return (
        f"{trace['trace']}: {trace['hours']:g} h, {trace['mean']:g} of {trace['most']} nodes, "
        f"{trace['drops']} drops"
    )


def _rows(found: dict[str, Any], names: Sequence[str]) -> Iterator[Sequence[str]]:
    for who in dict.fromkeys(row["who"] for row in found["rows"]):
        cells = [_row(found, who, name) for name in names]
        yield who, *(f"{_percent(cell['saved'])} ({cell['goodput']:.3f})" for cell in cells)


def _goals(found: dict[str, Any]) -> Iterator[Sequence[str]]:
    for name in JUDGED:
        saved = _row(found, OURS, name)["saved"]
        oracle = _row(found, ORACLE, name)["saved"]
        told = f"{_percent(saved)} saved"
        yield f">= {GOAL:.0%} saved", name, told, met(saved >= GOAL)
        ratio = saved / oracle
        yield f">= {OF_ORACLE:g} x the oracle", name, f"{ratio:.3f}", met(ratio >= OF_ORACLE)
    goodput = found["large"]["goodput"]
    for efficiency in CLAIMED_EFFICIENCY:
        saved = 1 - (1 - DISCOUNT) / (efficiency * goodput)
        what = f">= 40 % at {found['large']['nodes']} nodes, scaling of {efficiency:g} assumed"
        yield what, "p3", f"{_percent(saved)} saved", met(saved >= 0.4)


def _row(found: dict[str, Any], who: str, trace: str) -> dict[str, Any]:
    return next(row for row in found["rows"] if (row["who"], row["trace"]) == (who, trace))


def _percent(share: float | None) -> str:
    return "nothing" if share is None else f"{100 * share:.1f} %"
