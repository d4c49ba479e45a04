"""What the status says of training: the world, the step, and how often it has grown."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Final

from spotrain.controller.model import Observed, WorldView
from spotrain.controller.status import Progress, WorldStatus

MOST_METRICS: Final = 16
LONGEST_NAME: Final = 63


@dataclass(frozen=True)
class Report:
    world: WorldStatus | None
    progress: Progress | None
    growths: int
    look_again: datetime | None = None
    """When the step that is held back now may be written."""


def report(observed: Observed, now: datetime, *, last: bool = False) -> Report:
    """The coordinator's word, at a rate that whoever keeps it can bear; `last`: at the job's end,
    or where it rests.

    A world that is older than the one on record comes from a coordinator that no longer leads.
    """
    status, seen = observed.status, observed.world
    before, progress, growths = status.world, status.progress, status.restarts.growths
    if seen is None or (before and seen.number < before.number):
        return Report(before, progress, growths)
    if seen.size == 0:  # no world trains; the last one may have come further than was written
        is_news = last and seen.step > (progress.step if progress else 0)
        return Report(before, _progress(seen, now) if is_news else progress, growths)
    world = before
    if before is None or seen.number > before.number:
        world = WorldStatus(seen.number, seen.size, seen.since, seen.step)
        growths += before is not None and seen.size > before.size
    begins = _begins(observed, seen)
    if progress and progress.step == seen.step and not begins:
        return Report(world, progress, growths)
    fresh_until = progress and progress.at + timedelta(seconds=observed.refresh_seconds)
    if fresh_until and now < fresh_until and world == before and not (last or begins):
        return Report(world, progress, growths, look_again=fresh_until)
    return Report(world, _progress(seen, now), growths)


def _begins(observed: Observed, seen: WorldView) -> bool:
    """Has a world done its first step since the ledger was written? It ends the pause before it,
    and whoever waits for the end of an interruption need not wait for the next refresh as well."""
    newest = observed.status.history[-1:]
    return any(
        entry.number == chapter.number and entry.first_step_at is None and chapter.first_step_at
        for entry, chapter in zip(newest, seen.chapters[-1:], strict=False)
    )


def _progress(seen: WorldView, now: datetime) -> Progress:
    """A script may tell of as much as it likes; the status keeps what was named last."""
    fit = {
        name: value
        for name, value in seen.metrics.items()
        if isfinite(value) and len(name) <= LONGEST_NAME
    }
    metrics = dict(list(fit.items())[-MOST_METRICS:]) or None
    return Progress(seen.step, now, metrics, seen.steps_left)
