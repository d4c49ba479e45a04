"""What docs/performance.md shows of the cost of a step. Pure."""

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any, Final

from bench import page
from bench.figure import GREEN, Dots, Series

GOAL_PERCENT: Final = 1.0
HEAD: Final = ("workers", "plain step", "with the session", "added (middle half)", "goal", "")


def block(found: dict[str, Any]) -> str:
    sizes = sorted({job["size"] for job in found["jobs"]})
    pairs = len(found["jobs"][0]["seconds"])
    intro = (
        f"{page.ran_on(found)}, torch {found['machine']['torch']}. Medians over blocks of "
        f"{found['jobs'][0]['steps']} steps, {pairs} of each kind in each of "
        f"{len(found['jobs']) // len(sizes)} jobs of a size."
    )
    return "\n".join([intro, "", page.table(HEAD, [_row(found, size) for size in sizes])])


def figure(found: dict[str, Any]) -> Dots:
    rows = {
        f"{size} workers": _added(_per_step(found, size))
        for size in sorted({job["size"] for job in found["jobs"]})
    }
    return Dots(
        title="Every pair of blocks: what the session adds to a step",
        unit="per cent of the plain step",
        series=[Series(label="ours, elastic.run", color=GREEN, rows=rows)],
        goal=GOAL_PERCENT,
    )


def _per_step(found: dict[str, Any], size: int) -> list[tuple[float, float]]:
    """Milliseconds: with the session, and of the plain block that came right after it."""
    return [
        (1000 * ours / job["steps"], 1000 * plain / job["steps"])
        for job in found["jobs"]
        if job["size"] == size
        for ours, plain in job["seconds"]
    ]


def _added(per_step: Sequence[tuple[float, float]]) -> list[float]:
    return [100 * (ours - plain) / plain for ours, plain in per_step]


def _row(found: dict[str, Any], size: int) -> list[str]:
    per_step = _per_step(found, size)
    low, middle, high = quantiles(_added(per_step), n=4, method="inclusive")
    return [
        str(size),
        f"{median(plain for _, plain in per_step):.2f} ms",
        f"{median(ours for ours, _ in per_step):.2f} ms",
        f"{middle:+.2f} % ({low:+.2f} to {high:+.2f})",
        f"<= {GOAL_PERCENT:g} %",
        page.met(middle <= GOAL_PERCENT),
    ]
