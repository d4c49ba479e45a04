"""What docs/performance.md shows of fencing. Pure."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.figure import GREEN, Dots, Series
from bench.page import met, ran_on, table


def block(found: dict[str, Any]) -> str:
    head = ("trials", "stale acts", "of these count", "new world commits", "after", "goal", "")
    rows = [_stalled(found["stalled"]), _led(found["led"])]
    return "\n".join([f"{ran_on(found)}.", "", table(head, rows)])


def figure(found: dict[str, Any]) -> Dots:
    rows = {
        "worker frozen": [trial["commit_after_seconds"] for trial in found["stalled"]],
        "coordinator frozen": [trial["commit_after_seconds"] for trial in found["led"]],
    }
    return Dots(
        title="Every trial: from the freeze to the first commit of the new world",
        unit="seconds",
        series=[Series(label="ours, elastic.run", color=GREEN, rows=rows)],
        limits=(0, 1.1 * max(max(values) for values in rows.values())),
    )


def _stalled(trials: Sequence[dict[str, Any]]) -> Sequence[str]:
    late = sum(trial["was_published"] for trial in trials)
    counting = sum(trial["counts"] for trial in trials)
    return (
        f"{len(trials)}: worker frozen before it publishes",
        f"{late} checkpoints published late",
        str(counting),
        *_commits(trials, is_safe=counting == 0),
    )


def _led(trials: Sequence[dict[str, Any]]) -> Sequence[str]:
    granted = sum(len(trial["granted"]) for trial in trials)
    return (
        f"{len(trials)}: coordinator frozen, another leads",
        f"{len(trials)} worlds and {len(trials)} commits asked of the former leader",
        str(granted),
        *_commits(trials, is_safe=granted == 0),
    )


def _commits(trials: Sequence[dict[str, Any]], *, is_safe: bool) -> Sequence[str]:
    committing = sum(t["new_world_committed"] and t["newest_is_intact"] for t in trials)
    after = median(trial["commit_after_seconds"] for trial in trials)
    is_met = is_safe and committing == len(trials)
    return str(committing), f"{after:.1f} s", "0 count, all commit", met(is_met)
