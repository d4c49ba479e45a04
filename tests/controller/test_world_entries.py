"""Worlds are entered from what the coordinator tells, which it may forget."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from spotrain.controller.model import Observed
from spotrain.controller.world_entries import AWAY, follow_worlds
from spotrain.ledger.entries import Members, Place, StayEntry, WorldEntry
from spotrain.worlds import Reason
from spotrain.worlds.history import Chapter
from tests.controller.builders import NOW, after, seen, world

HERE = Place(pool="t4-spot", zone="a", capacity="spot")
THERE = Place(pool="t4-spot", zone="b", capacity="spot")


def chapter(number: int, published: float, **changes: Any) -> Chapter:
    members = ("digits-worker-0", "digits-worker-1")
    return replace(Chapter(number=number, members=members, published_at=published), **changes)


def telling(*chapters: Chapter, clock_began: datetime = NOW, **changes: Any) -> Observed:
    return seen(world=world(chapters=chapters, clock_began=clock_began, **changes))


def stay(index: int, place: Place | None) -> StayEntry:
    name = f"digits-worker-{index}"
    return StayEntry(pod=name, uid=name, gpus=1, created_at=NOW, place=place)


def follow(
    observed: Observed,
    before: tuple[WorldEntry, ...] = (),
    stays: tuple[StayEntry, ...] = (),
    now: datetime = NOW,
) -> tuple[WorldEntry, ...]:
    return follow_worlds(before, observed, stays, now)


TRAINS = chapter(1, 10, first_step=0, first_step_at=15, last_step=20, last_step_at=30)


def test_a_world_is_entered_in_wall_clock_time_with_where_its_workers_are() -> None:
    (entry,) = follow(telling(TRAINS), stays=(stay(0, HERE), stay(1, THERE)))
    assert (entry.published_at, entry.first_step_at) == (after(10), after(15))
    assert (entry.last_step, entry.last_step_at, entry.ended_at) == (20, after(30), None)
    assert set(entry.members) == {
        Members(place=HERE, workers=1),
        Members(place=THERE, workers=1),
    }


def test_where_its_workers_are_is_entered_once_it_is_known_and_then_stays() -> None:
    first = follow(telling(TRAINS), stays=(stay(0, HERE), stay(1, None)))
    assert first[0].members == (Members(place=HERE, workers=1),)
    second = follow(telling(TRAINS), first, (stay(0, HERE), stay(1, HERE)))
    assert second[0].members == (Members(place=HERE, workers=2),)
    assert follow(telling(TRAINS), second, (stay(0, THERE), stay(1, THERE))) == second


def test_a_clock_that_is_read_a_little_differently_moves_nothing() -> None:
    first = follow(telling(replace(TRAINS, ended_at=40, reason=Reason.LOSS)))
    again = telling(replace(TRAINS, ended_at=40, reason=Reason.LOSS), clock_began=after(0.02))
    assert follow(again, first) == first


def test_no_world_begins_before_the_one_before_it_however_the_clock_is_read() -> None:
    before = follow(telling(chapter(1, 10)), now=after(10))
    ended = chapter(1, 10, ended_at=10, reason=Reason.LOSS)
    read_early = telling(ended, chapter(2, 10), clock_began=after(-0.02))
    first, second = follow(read_early, before, now=after(10))
    assert (first.published_at, second.published_at) == (after(10), after(10))
    _, second = follow(read_early, before, now=after(9.99))
    assert second.published_at == after(9.99)  # a clock that was ahead leads nobody into the future


def test_a_world_that_came_as_far_as_its_end_is_told_trained_until_the_end_that_was_entered() -> (
    None
):
    ended = replace(TRAINS, ended_at=40, reason=Reason.LOSS)
    before = follow(telling(ended))
    settled = replace(ended, last_step=21, last_step_at=40, pause_seconds=3.0, steps_lost=0)
    (entry,) = follow(telling(settled, clock_began=after(0.02)), before)
    assert (entry.last_step, entry.last_step_at, entry.ended_at) == (21, after(40), after(40))


def test_a_world_that_was_adopted_goes_on_in_its_entry() -> None:
    before = follow(telling(TRAINS))
    adopted = chapter(1, 100, first_step=0, first_step_at=101, last_step=1, last_step_at=101)
    (entry,) = follow(telling(adopted), before)
    assert entry == before[0]
    further = replace(adopted, last_step=50, last_step_at=120)
    assert follow(telling(further), before)[0].last_step_at == after(120)


def test_an_end_that_was_told_to_nobody_is_when_the_world_was_last_heard_of() -> None:
    first, second = follow(telling(chapter(2, 200)), follow(telling(TRAINS)))
    assert (first.ended_at, first.reason, first.message) == (after(30), "loss", AWAY)
    assert second.ended_at is None


def test_a_world_that_does_not_come_back_to_a_new_coordinator_has_ended() -> None:
    before, nobody = follow(telling(TRAINS)), telling(since=after(100), size=0)
    assert follow(nobody, before, now=after(110)) == before
    (entry,) = follow(nobody, before, now=after(200))
    assert (entry.ended_at, entry.reason) == (after(30), "loss")


def test_a_graver_reason_that_comes_later_counts_and_the_time_does_not_move() -> None:
    noticed = follow(telling(replace(TRAINS, ended_at=40, reason=Reason.NOTICE)))
    lost = replace(TRAINS, ended_at=40, reason=Reason.LOSS, message="gone")
    (entry,) = follow(telling(lost), noticed)
    assert (entry.ended_at, entry.reason, entry.message) == (after(40), "loss", "gone")


def test_a_coordinator_that_knows_of_older_worlds_only_is_not_listened_to() -> None:
    before = follow(telling(chapter(7, 10)))
    assert follow(telling(replace(TRAINS, ended_at=40, reason=Reason.LOSS)), before) == before


def test_worlds_that_were_settled_are_not_entered_again() -> None:
    before = follow(telling(chapter(7, 10)))
    entries = follow(telling(chapter(6, 1), chapter(7, 10), chapter(8, 20)), before)
    assert [entry.number for entry in entries] == [7, 8]


def test_what_the_next_world_tells_of_the_one_before_is_entered() -> None:
    before = follow(telling(TRAINS))
    settled = replace(
        TRAINS,
        last_step=22,
        last_step_at=40,
        ended_at=40,
        reason=Reason.LOSS,
        pause_seconds=5.0,
        steps_lost=12,
    )
    entry, _ = follow(telling(settled, chapter(2, 42)), before)
    assert (entry.last_step, entry.last_step_at) == (22, after(40))
    assert (entry.pause_seconds, entry.steps_lost) == (5.0, 12)
