"""From the steps of all ranks to what a change of worlds has cost. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.train.peers.steps import StepDone


@dataclass(frozen=True, kw_only=True)
class Change:
    """From one world to the next after an event."""

    from_event: float
    """Seconds from the event to the first step of the next world."""
    pause: float
    """Seconds without any step: from the last one of the world before to that first one."""
    lost_steps: int
    """Steps that were done and have to be done again."""
    before: str
    after: str


def change_after(steps: Sequence[StepDone], event_at: float, *, size: int) -> Change | None:
    """What an event has cost, once a new world of `size` ranks has done a step; None before.

    `steps` are in the order of time and go back to before the event. Steps that ranks still did
    in their old world after the event belong to that world.

    Raises:
        ValueError: there was no step before the event, so nothing was interrupted.
    """
    known = {step.world for step in steps if step.at <= event_at}
    if not known:
        raise ValueError("no step was done before the event: wait for one before interrupting")
    old = next(step.world for step in reversed(steps) if step.at <= event_at)
    first = next(
        (s for s in steps if s.at > event_at and s.world not in known and s.size == size), None
    )
    if first is None:
        return None
    done = [step for step in steps if step.world == old and step.at <= first.at]
    return Change(
        from_event=first.at - event_at,
        pause=first.at - done[-1].at,
        lost_steps=max(0, max(step.step for step in done) - (first.step - 1)),
        before=old,
        after=first.world,
    )


def steps_of_newest_world(steps: Sequence[StepDone], *, size: int) -> int:
    """Steps that the world which steps now has done by itself; 0 if it has another size."""
    if not steps or steps[-1].size != size:
        return 0
    own = [step.step for step in steps if step.world == steps[-1].world]
    return max(own) - min(own) + 1


def worker_of_rank(steps: Sequence[StepDone], rank: int) -> str:
    """Who holds this rank in the world that steps now. Raises StopIteration if nobody does."""
    world = steps[-1].world
    return next(s.worker for s in reversed(steps) if s.world == world and s.rank == rank)
