"""The worlds of a job, entered from what the coordinator tells of them.

The coordinator forgets when it is restarted, and then tells of a world that it has found training
as of one that has just begun; the entry remembers. Its clock is not the wall's, and each conversion
is a little different, so a time that was entered stays, and no world begins before those times of
the one before it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, TypeVar

from spotrain.controller.model import Observed
from spotrain.ledger.entries import Members, Place, StayEntry, WorldEntry
from spotrain.worlds import Reason
from spotrain.worlds.history import Chapter

LONGEST_MESSAGE: Final = 500
RETURN: Final = timedelta(minutes=1)
"""A world that trains is back at a coordinator that was restarted long before that."""
AWAY: Final = "it ended while no coordinator was there"

Number = TypeVar("Number", int, float)
Wall = Callable[[float | None], datetime | None]


def follow_worlds(
    entries: Sequence[WorldEntry], observed: Observed, stays: Sequence[StayEntry], now: datetime
) -> tuple[WorldEntry, ...]:
    """The worlds' entries, oldest first.

    What is older than the newest one and not among them was settled already. A coordinator that
    knows of older worlds only leads no longer.
    """
    seen = observed.world
    newest = entries[-1].number if entries else 0
    if seen is not None and not seen.chapters and now >= seen.since + RETURN:
        return (*entries[:-1], *(close(entry, Reason.LOSS, AWAY) for entry in entries[-1:]))
    if seen is None or not seen.chapters or seen.chapters[-1].number < newest:
        return tuple(entries)

    def wall(clock: float | None) -> datetime | None:
        began = seen.clock_began
        return None if clock is None or began is None else began + timedelta(seconds=clock)

    known = {entry.number: entry for entry in entries}
    places = {stay.pod: stay.place for stay in stays if stay.place}
    for chapter in seen.chapters:
        if chapter.number in known or chapter.number > newest:
            entry = known.get(chapter.number) or _begun(chapter, wall, known.values(), now)
            known[chapter.number] = _with_members(_follow(entry, chapter, wall), chapter, places)
    ordered = [known[number] for number in sorted(known)]
    closed = [close(entry, Reason.LOSS, AWAY) for entry, _ in pairwise(ordered)]
    return (*closed, *ordered[-1:])


def close(
    entry: WorldEntry, reason: Reason, message: str, at: datetime | None = None
) -> WorldEntry:
    """The entry of a world that is over though nobody has told of its end: where nobody knows
    better either, it ended when it was last heard of."""
    if entry.ended_at is not None:
        return entry
    heard_at = entry.last_step_at or entry.first_step_at or entry.published_at
    return replace(entry, ended_at=at or heard_at, reason=str(reason), message=message)


def _begun(chapter: Chapter, wall: Wall, known: Iterable[WorldEntry], now: datetime) -> WorldEntry:
    """What was settled up to a time of an earlier world is not counted again in this one."""
    published_at = wall(chapter.published_at)
    assert published_at is not None
    entered = [
        at
        for world in known
        if world.number < chapter.number
        for at in (world.published_at, world.first_step_at, world.ended_at)
        if at is not None
    ]
    published_at = max((published_at, *(min(at, now) for at in entered)))
    return WorldEntry(number=chapter.number, size=chapter.size, published_at=published_at)


def _follow(entry: WorldEntry, chapter: Chapter, wall: Wall) -> WorldEntry:
    restored = entry.restored_step if entry.restored_step is not None else chapter.first_step
    return replace(
        entry,
        first_step_at=entry.first_step_at or wall(chapter.first_step_at),
        restored_step=restored,
        last_step=_most(entry.last_step, chapter.last_step),
        last_step_at=_last_step_at(entry, chapter, wall),
        committed_step=_most(entry.committed_step, chapter.committed_step),
        samples_per_step=max(entry.samples_per_step, chapter.samples_per_step),
        ended_at=entry.ended_at or wall(chapter.ended_at),
        reason=str(chapter.reason) if chapter.reason else entry.reason,
        message=chapter.message[:LONGEST_MESSAGE] if chapter.reason else entry.message,
        pause_seconds=_first(entry.pause_seconds, chapter.pause_seconds),
        steps_lost=_first(entry.steps_lost, chapter.steps_lost),
        save_stall_seconds=max(entry.save_stall_seconds, chapter.save_stall_seconds),
        data_wait_seconds=max(entry.data_wait_seconds, chapter.data_wait_seconds),
    )


def _last_step_at(entry: WorldEntry, chapter: Chapter, wall: Wall) -> datetime | None:
    """It moves with the step, and once more when the next world tells that this one came so far by
    its end, which was entered long before, and may be settled."""
    if chapter.last_step is None or chapter.last_step < (entry.last_step or 0):
        return entry.last_step_at
    if chapter.last_step_at == chapter.ended_at:
        return entry.ended_at or wall(chapter.ended_at)
    if chapter.last_step == entry.last_step:
        return entry.last_step_at
    return wall(chapter.last_step_at)


def _with_members(entry: WorldEntry, chapter: Chapter, places: Mapping[str, Place]) -> WorldEntry:
    """Where its workers are, until that is known of all."""
    if sum(members.workers for members in entry.members) >= entry.size:
        return entry
    found = Counter(places[pod] for pod in chapter.members if pod in places)
    members = tuple(Members(place=place, workers=count) for place, count in found.items())
    return replace(entry, members=members) if members else entry


def _most(known: int | None, told: int | None) -> int | None:
    return max((step for step in (known, told) if step is not None), default=None)


def _first(known: Number | None, told: Number | None) -> Number | None:
    return told if known is None else known
