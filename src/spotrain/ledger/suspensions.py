"""Suspensions among the worlds. A coordinator sees workers leave on notice, and a long pause; only
the job's account knows that somebody had stopped it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from spotrain.ledger.entries import PauseEntry, WorldEntry
from spotrain.ledger.time_split import Span

SUSPENDED: Final = "suspended"
"""Why a world ended, beside the words of `worlds.Reason`."""
PLANNED: Final = ("notice", "limits")
"""How a coordinator tells that workers were asked to leave."""
CLOCKS: Final = timedelta(seconds=1)
"""By which the coordinator's may be behind the account's."""


def tell_suspensions(
    worlds: Sequence[WorldEntry], pauses: Sequence[PauseEntry]
) -> tuple[WorldEntry, ...]:
    """The worlds, of which those that a suspension ended say so. No pause between two of them
    counts the time in which the job was suspended."""
    return tuple(_tell(world, pauses) for world in worlds)


def _tell(world: WorldEntry, pauses: Sequence[PauseEntry]) -> WorldEntry:
    ended_at = world.ended_at
    if ended_at is None:
        return world
    if world.reason in PLANNED and any(
        each.since - CLOCKS <= ended_at and (each.until is None or ended_at < each.until)
        for each in pauses
    ):
        world = replace(world, reason=SUSPENDED)
    if world.pause_seconds is None:
        return world
    pause = Span(ended_at, ended_at + timedelta(seconds=world.pause_seconds))
    suspended = sum(
        Span(each.since, each.until or pause.until).within(pause).seconds for each in pauses
    )
    return replace(world, pause_seconds=max(0.0, world.pause_seconds - suspended))
