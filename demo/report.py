"""What the demonstration showed, as numbers, and whether that is good enough."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spotrain.ledger.cost import Saving, saving_at
from spotrain.ledger.exactness import Exactness, audit
from spotrain.ledger.goodput import Goodput, WorldRecord, goodput
from spotrain.ledger.samples import read_commits, read_sample_log
from spotrain.local.engine import Engine
from spotrain.worlds.history import Chapter

LEAST_ACCURACY = 0.95
LONGEST_PAUSE_SECONDS = 10.0
SECONDS_PER_HOUR = 3600.0
PLANNED = ("notice", "growth")


@dataclass(frozen=True, kw_only=True)
class Report:
    accuracy: float
    samples: Exactness
    goodput: Goodput
    cost: Saving
    worlds: tuple[Chapter, ...]
    problems: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return {
            "passed": not self.problems,
            "accuracy": round(self.accuracy, 4),
            "samples": {"lost": self.samples.lost, "repeated": self.samples.repeated},
            "goodput": round(self.goodput.fraction, 4),
            "goodput_lost": {cause: round(share, 4) for cause, share in self.goodput.lost.items()},
            "worlds": [
                {
                    "number": world.number,
                    "size": world.size,
                    "reason": str(world.reason),
                    "first_step": world.first_step,
                    "last_step": world.last_step,
                    "pause_seconds": _rounded(world.pause_seconds),
                    "steps_lost": world.steps_lost,
                }
                for world in self.worlds
            ],
            "cost": {
                "spot_usd": round(self.cost.usd, 6),
                "on_demand_usd": round(self.cost.on_demand_usd, 6),
            },
            "problems": list(self.problems),
        }


def judge(engine: Engine, *, output: Path, samples: Path, training_images: int) -> Report:
    """Look at what the job left behind: its history, its checkpoints, its sample logs."""
    report = engine.report()
    worlds = report.history
    exactness = audit(
        size=training_images,
        commits=read_commits(output / "checkpoints"),
        consumed=read_sample_log(samples),
    )
    lives = [
        (node.started_at, node.ended_at if node.ended_at is not None else time.monotonic())
        for node in engine.machines.nodes
    ]
    share = goodput(_records(worlds), lives)
    pool = engine.machines.nodes[0].pool
    dollars = saving_at(
        node_hours=sum(end - start for start, end in lives) / SECONDS_PER_HOUR,
        usd_per_hour=pool.usd_per_hour,
        on_demand_usd_per_hour=pool.on_demand_usd_per_hour,
        goodput=share.fraction,
    )
    accuracy = report.metrics.get("accuracy", 0.0)
    problems = find_problems(
        outcome=report.outcome, accuracy=accuracy, samples=exactness, worlds=worlds
    )
    return Report(
        accuracy=accuracy,
        samples=exactness,
        goodput=share,
        cost=dollars,
        worlds=worlds,
        problems=problems,
    )


def find_problems(
    *, outcome: str, accuracy: float, samples: Exactness, worlds: Sequence[Chapter]
) -> tuple[str, ...]:
    """What falls short, one sentence each; empty if the demonstration passed."""
    problems = []
    if outcome != "succeeded":
        problems.append(f"the job ended as {outcome or 'unfinished'}, not succeeded")
    if accuracy < LEAST_ACCURACY:
        problems.append(f"accuracy {accuracy:.2%} is below {LEAST_ACCURACY:.0%}")
    if samples.lost or samples.repeated or samples.problems:
        problems.append(f"samples lost: {samples.lost}, repeated: {samples.repeated}")
        problems.extend(samples.problems)
    for world, after in pairwise(worlds):
        problems.extend(_problems_between(world, after))
    missing = {*PLANNED, "loss"} - {str(world.reason) for world in worlds}
    problems.extend(f"no world ended by a {reason}" for reason in sorted(missing))
    return tuple(problems)


def _problems_between(world: Chapter, after: Chapter) -> list[str]:
    """A change may take ten seconds; what was planned loses nothing, a loss no saved step."""
    name = f"world {world.number} ({world.reason})"
    problems = []
    if world.pause_seconds is None or world.pause_seconds > LONGEST_PAUSE_SECONDS:
        problems.append(f"{name}: the pause after it was {world.pause_seconds} s")
    if str(world.reason) in PLANNED and world.steps_lost != 0:
        problems.append(f"{name}: {world.steps_lost} steps lost, though its end was planned")
    saved = world.committed_step if world.committed_step is not None else world.first_step
    if after.first_step != saved:
        problems.append(
            f"{name}: the next world went on from step {after.first_step}, though step {saved} "
            "was saved"
        )
    return problems


def _records(worlds: Sequence[Chapter]) -> list[WorldRecord]:
    """The history in the ledger's words, which counts a world's own steps from its first."""
    records = []
    for world in worlds:
        started = world.first_step is not None and world.first_step_at is not None
        ended_at = world.ended_at if world.ended_at is not None else world.published_at
        records.append(
            WorldRecord(
                number=world.number,
                size=world.size,
                reason=str(world.reason),  # type: ignore[arg-type]
                published_at=world.published_at,
                first_step_at=world.first_step_at if started else None,
                last_step_at=world.last_step_at if started else None,
                first_step=world.first_step + 1 if world.first_step is not None else None,
                last_step=world.last_step if started else None,
                ended_at=ended_at,
                committed_step=world.committed_step or world.first_step or 0,
                samples_per_step=float(world.samples_per_step),
                pause_seconds=world.pause_seconds or 0.0,
                steps_lost=world.steps_lost or 0,
            )
        )
    return records


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
