"""One case on one launcher: does training come to a step that it would not have reached before?"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.train.peers.launchers import Launcher
from bench.train.peers.steps import StepDone
from bench.train.peers.team import NeverCame, team
from bench.train.survival.cases import WORKERS, Case

STEPS_BEFORE: Final = 60
"""So that there are checkpoints."""
STEPS_AFTER: Final = 400
"""Beyond what was done before; ten seconds of training, in which replacements join."""


def survive(case: Case, launcher: Launcher, *, seconds: float) -> dict[str, Any]:
    """`seconds`: from the end of what happens; a job that comes back later counts as lost."""
    with (
        tempfile.TemporaryDirectory() as folder,
        team(launcher, Path(folder), max_size=len(WORKERS)) as job,
    ):
        if not case.fits(job):
            return {"fits": False}
        job.start(*WORKERS)
        job.until_training(size=len(WORKERS), steps=STEPS_BEFORE)
        at = case.act(job)
        before = furthest(job.steps(), until=at)
        try:
            job.until(lambda done: reached(done, before + STEPS_AFTER), seconds=seconds)
        except NeverCame as never:
            return {
                "fits": True,
                "survives": False,
                "why": str(never).splitlines()[0].partition(": ")[2],
                "steps": furthest(job.steps()) - before,
            }
        still = standstill(job.steps(), since=at)
        return {"fits": True, "survives": True, "standstill": round(still, 2)}


def furthest(steps: Sequence[StepDone], until: float = float("inf")) -> int:
    return max((step.step for step in steps if step.at <= until), default=0)


def standstill(steps: Sequence[StepDone], *, since: float) -> float:
    """The longest time without a step that had not been done before, in seconds."""
    furthest, last, longest = 0, since, 0.0
    for step in sorted(steps, key=lambda step: step.at):
        if step.step > furthest:
            furthest = step.step
            if step.at > since:
                longest, last = max(longest, step.at - last), step.at
    return longest


def reached(steps: Sequence[StepDone], target: int) -> bool | None:
    return furthest(steps) >= target or None
