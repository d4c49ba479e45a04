"""The table of docs/performance.md about the cost of a step. Pure."""

from statistics import median, quantiles
from typing import Any, Final

from bench import page

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


def _row(found: dict[str, Any], size: int) -> list[str]:
    """Each block is compared with the plain one that came right after it."""
    per_step = [
        (1000 * ours / job["steps"], 1000 * plain / job["steps"])
        for job in found["jobs"]
        if job["size"] == size
        for ours, plain in job["seconds"]
    ]
    added = [100 * (ours - plain) / plain for ours, plain in per_step]
    low, middle, high = quantiles(added, n=4, method="inclusive")
    return [
        str(size),
        f"{median(plain for _, plain in per_step):.2f} ms",
        f"{median(ours for ours, _ in per_step):.2f} ms",
        f"{middle:+.2f} % ({low:+.2f} to {high:+.2f})",
        f"<= {GOAL_PERCENT:g} %",
        "met" if middle <= GOAL_PERCENT else "missed",
    ]
