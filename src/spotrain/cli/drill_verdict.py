"""What an interruption cost, by the job's own ledger, and whether that is within the limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.cli.drill_plan import Strike, names, unsteady
from spotrain.cli.job_view import JobView
from spotrain.cli.wording import count
from spotrain.kinds import Object
from spotrain.ledger.closing import SECONDS_PER_HOUR, usd_per_hour
from spotrain.ledger.entries import Place, StayEntry, WorldEntry, to_document
from spotrain.ledger.prices import PriceBook
from spotrain.local.interruptions import Manner
from spotrain.worlds import Reason

EXPECTED: Final[Mapping[Manner, Reason]] = {
    Manner.NOTICE: Reason.NOTICE,
    Manner.KILL: Reason.LOSS,
    Manner.NODE: Reason.NOTICE,
}
"""How the world that is interrupted ends, if it is this interruption that ends it."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A None is no limit."""

    max_pause_seconds: float | None = None
    max_steps_lost: int | None = None
    """None: with notice no step may be lost, without it any number."""

    def steps_lost(self, manner: Manner) -> int | None:
        if self.max_steps_lost is None and manner is not Manner.KILL:
            return 0
        return self.max_steps_lost


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One interruption, and all that came of it until the job was whole again."""

    strike: Strike
    worlds: tuple[WorldEntry, ...]
    """That ended through it: the one that was interrupted, and those that trained with fewer."""
    usd_per_hour: float | None
    """What the job's nodes cost together; None: nobody has named a price."""
    whole_seconds: float | None = None
    """From the interruption until all workers trained again; None: they never did."""
    problem: str = ""
    """Why it was not measured to its end."""

    @property
    def reason(self) -> str:
        return self.worlds[0].reason if self.worlds else ""

    @property
    def pause_seconds(self) -> float:
        """Nobody trained for so long, over all changes of the world."""
        return sum(world.pause_seconds or 0.0 for world in self.worlds)

    @property
    def steps_lost(self) -> int:
        return sum(world.steps_lost or 0 for world in self.worlds)

    @property
    def usd_lost(self) -> float | None:
        """What the nodes cost while nobody trained, and while lost steps were done again."""
        if self.usd_per_hour is None:
            return None
        redone = sum((world.steps_lost or 0) * step_seconds(world) for world in self.worlds)
        return self.usd_per_hour * (self.pause_seconds + redone) / SECONDS_PER_HOUR

    def faults(self, limits: Limits) -> tuple[str, ...]:
        """Every limit that was passed; none: the drill has passed."""
        return tuple(_faults(self, limits))

    def document(self, limits: Limits) -> Object:
        faults = self.faults(limits)
        return {
            "kind": str(self.strike.manner),
            "worker": self.strike.worker.index,
            "pods": [worker.pod for worker in self.strike.leaving],
            "node": self.strike.worker.node,
            "endedBy": self.reason or None,
            "pauseSeconds": self.pause_seconds,
            "stepsLost": self.steps_lost,
            "usdLost": self.usd_lost,
            "wholeSeconds": self.whole_seconds,
            "passed": not faults,
            "faults": list(faults),
            "worlds": [to_document(world) for world in self.worlds],
        }


def goes_on(seen: JobView, number: int) -> bool:
    """World `number` has ended, and a later one has done its first step."""
    return any(
        world.number == number and world.pause_seconds is not None for world in seen.status.history
    )


def is_whole(seen: JobView, before: WorldEntry) -> bool:
    """All workers train again, in a world after `before` that is as large."""
    world = seen.status.history[-1] if seen.status.history else before
    is_after = world.number > before.number and world.size >= before.size
    return is_after and not unsteady(seen) and goes_on(seen, before.number)


def missing(seen: JobView, strike: Strike, before: WorldEntry) -> str:
    """What is awaited until the job is whole again, and what has come so far."""
    worlds = {world.number: world for world in seen.status.history}
    hit, newest = worlds.get(before.number), seen.status.history[-1]
    if hit is not None and hit.ended_at is None:
        leaving = names(strike.leaving)
        return f"world {before.number} has not ended: nobody has seen {leaving} leave it yet"
    so_far = f"world {before.number} has ended" + (f" by {hit.reason}" if hit else "")
    wanted = count(seen.job.replicas, "worker") if seen.job else "its workers"
    ready = f"{seen.status.workers.ready} of {wanted} ready"
    if newest.ended_at is not None:
        return f"{so_far} and no other one was formed; {ready}"
    workers = count(newest.size, "worker")
    if newest.first_step_at is None:
        return f"{so_far} and world {newest.number} of {workers} has done no step; {ready}"
    left = unsteady(seen)
    return f"{so_far} and world {newest.number} of {workers} trains; " + (
        f"the job {left}" if left else "all workers train again only now"
    )


def worlds_ended(seen: JobView, since: int) -> tuple[WorldEntry, ...]:
    """From world `since` on."""
    ended = (world for world in seen.status.history if world.ended_at is not None)
    return tuple(world for world in ended if world.number >= since)


def step_seconds(world: WorldEntry) -> float:
    """What a step of it took; 0 where it did too few to tell."""
    if world.first_step_at is None or world.last_step_at is None or world.last_step is None:
        return 0.0
    steps = world.last_step - (world.restored_step or 0) - 1
    seconds = (world.last_step_at - world.first_step_at).total_seconds()
    return seconds / steps if steps > 0 else 0.0


def nodes_usd_per_hour(stays: Iterable[StayEntry], book: PriceBook, now: datetime) -> float | None:
    """What the job's part of its nodes costs at the prices in force; None: nobody names any."""

    def price(place: Place) -> float:
        return next(book.over(place, now, now + timedelta(hours=1))).usd_per_hour

    return usd_per_hour(stays, price) or None


def _faults(outcome: Outcome, limits: Limits) -> Sequence[str]:
    if outcome.problem:
        return [outcome.problem]
    faults = []
    manner, expected = outcome.strike.manner, EXPECTED[outcome.strike.manner]
    if outcome.reason != expected:
        faults.append(
            f"the world ended by {outcome.reason or 'nothing'} and not by {expected}, so this "
            f"{manner} was not what was measured"
        )
    longest = limits.max_pause_seconds
    if longest is not None and outcome.pause_seconds > longest:
        faults.append(f"a pause of {outcome.pause_seconds:.2f} s, where {longest:g} s is the limit")
    most = limits.steps_lost(manner)
    if most is not None and outcome.steps_lost > most:
        lost = count(outcome.steps_lost, "step")
        faults.append(f"{lost} lost, where {most:,} is the limit")
    return faults
