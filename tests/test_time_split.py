"""Wanted time, split: each second has one cause, and the causes add up."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.entries import BackOffEntry, PauseEntry, StayEntry, WorldEntry
from spotrain.ledger.time_split import LostSeconds, Span, Split, ettr, split_time

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def world(number: int, published: float, first: float, last: float, **changes: Any) -> WorldEntry:
    """A world that did steps 1 to 100, and was stopped by a notice after the last of them."""
    entry = WorldEntry(
        number=number,
        size=2,
        published_at=at(published),
        first_step_at=at(first),
        last_step_at=at(last),
        restored_step=0,
        last_step=100,
        committed_step=100,
        ended_at=at(last),
        reason="notice",
    )
    return replace(entry, **changes)


def stay(
    uid: str, created: float, scheduled: float | None, started: float | None, ended: float | None
) -> StayEntry:
    def moment(seconds: float | None) -> datetime | None:
        return None if seconds is None else at(seconds)

    return StayEntry(
        pod=uid,
        uid=uid,
        gpus=1,
        created_at=at(created),
        scheduled_at=moment(scheduled),
        started_at=moment(started),
        ended_at=moment(ended),
    )


def split(
    *entries: WorldEntry | StayEntry | PauseEntry | BackOffEntry,
    end: float = 100,
    min_workers: int = 2,
) -> Split:
    return split_time(
        [entry for entry in entries if isinstance(entry, WorldEntry)],
        [entry for entry in entries if isinstance(entry, StayEntry)],
        [entry for entry in entries if isinstance(entry, PauseEntry)],
        [entry for entry in entries if isinstance(entry, BackOffEntry)],
        life=Span(START, at(end)),
        min_workers=min_workers,
    )


def losses(found: Split) -> dict[str, float]:
    """The causes that cost something."""
    lost = {field.name: getattr(found.lost_seconds, field.name) for field in fields(LostSeconds)}
    return {cause: seconds for cause, seconds in lost.items() if seconds}


def test_a_whole_life_has_each_moment_under_its_cause() -> None:
    workers = stay("a", 0, 10, 30, 100), stay("b", 0, 20, 40, 100)
    found = split(*workers, world(1, 45, 50, 90))
    # Enough nodes from 20 on, containers from 40, the first step at 50; from 90 on anew.
    assert losses(found) == {"waiting_for_nodes": 10 + 10, "image_pull": 20, "forming": 20} | (
        {"waiting_for_nodes": 20}
    )
    assert found.useful_seconds == 40
    assert ettr(found, ()) == pytest.approx(0.4)


def test_workers_that_run_while_too_few_have_a_node_are_below_min() -> None:
    found = split(stay("a", 0, 10, 20, 100))
    assert losses(found) == {"waiting_for_nodes": 20, "below_min": 80}


def test_enough_nodes_without_images_are_the_images_fault_though_one_worker_runs() -> None:
    found = split(stay("a", 0, 0, 10, 100), stay("b", 0, 0, 60, 100))
    assert losses(found) == {"image_pull": 60, "forming": 40}


def test_what_waits_for_its_next_try_waits_for_no_nodes() -> None:
    """The only worker fails at 20, is tried again at 60, and has its next node at 70."""
    workers = stay("a", 0, 0, 0, 20), stay("b", 60, 70, 70, 100)
    found = split(*workers, BackOffEntry(since=at(20), until=at(60)), min_workers=1)
    assert losses(found) == {"forming": 20 + 30, "back_off": 40, "waiting_for_nodes": 10}


def test_those_who_wait_for_a_failed_peers_next_try_back_off_with_it() -> None:
    workers = stay("a", 0, 0, 0, 20), stay("b", 0, 0, 0, 100)
    found = split(*workers, BackOffEntry(since=at(20), until=at(60)))
    assert losses(found) == {"forming": 20, "back_off": 40, "below_min": 40}


def test_who_trains_on_without_a_failed_peer_loses_nothing_to_its_back_off() -> None:
    found = split(world(1, 0, 0, 100), BackOffEntry(since=at(20), until=at(60)))
    assert losses(found) == {}


def test_no_back_off_counts_while_the_job_is_suspended_or_has_ended() -> None:
    backing_off = BackOffEntry(since=at(20), until=at(380))
    found = split(backing_off, PauseEntry(since=at(30), until=at(90)))
    assert losses(found) == {"waiting_for_nodes": 20, "back_off": 10 + 10}


def test_a_pause_counts_neither_way_even_in_the_middle_of_training() -> None:
    found = split(world(1, 0, 0, 100), PauseEntry(since=at(40), until=at(80)))
    assert (found.useful_seconds, losses(found)) == (60, {})


def test_a_job_that_is_suspended_until_now_wants_nothing() -> None:
    assert ettr(split(PauseEntry(since=START)), ()) is None


def test_stalls_and_waits_come_off_before_steps_are_judged() -> None:
    lossy = world(1, 0, 0, 100, save_stall_seconds=10.0, data_wait_seconds=10.0, reason="loss")
    found = split(replace(lossy, committed_step=50))
    assert losses(found) == {"save_stall": 10, "data_wait": 10, "redone": 40}
    assert found.useful_seconds == 40


def test_steps_on_which_a_later_world_did_not_build_are_redone() -> None:
    first = world(1, 0, 0, 40, reason="loss", committed_step=100)
    again = world(2, 40, 40, 80, restored_step=25, last_step=100)
    assert losses(split(first, again, end=80)) == {"redone": 30}


def test_steps_in_memory_count_where_the_next_world_went_on_from_them() -> None:
    first = world(1, 0, 0, 40, reason="growth", committed_step=None)
    after = world(2, 40, 40, 80, restored_step=100, last_step=200, committed_step=200)
    assert losses(split(first, after, end=80)) == {}


def test_what_the_present_world_does_is_useful_until_it_is_lost() -> None:
    present = world(1, 0, 0, 60, ended_at=None, reason="", committed_step=None)
    assert split(present).useful_seconds == 100
    lost = replace(present, ended_at=at(80), reason="loss")
    assert losses(split(lost, end=80)) == {"redone": 80}


def test_a_finished_job_keeps_its_last_steps_and_its_end_is_idle() -> None:
    done = world(1, 0, 0, 60, committed_step=None, reason="finished", ended_at=at(70))
    found = split(done, stay("a", 0, 0, 0, 100), min_workers=1)
    assert (found.useful_seconds, losses(found)) == (60, {"idle": 40})


def test_a_world_that_hung_was_idle_until_somebody_noticed() -> None:
    hung = world(1, 0, 0, 40, reason="stall", ended_at=at(90))
    found = split(hung, stay("a", 0, 0, 0, 100), min_workers=1)
    assert (found.useful_seconds, losses(found)) == (40, {"idle": 50, "forming": 10})


def test_an_end_that_was_never_told_reaches_no_further_than_the_next_world() -> None:
    forgotten = world(1, 0, 0, 40, ended_at=None, reason="")
    found = split(
        forgotten, world(2, 50, 60, 100, restored_step=100, last_step=200, committed_step=200)
    )
    assert found.useful_seconds == 90


AnyOf = WorldEntry | StayEntry | PauseEntry | BackOffEntry

seconds = st.integers(0, 2000).map(lambda tenths: tenths / 10)


@st.composite
def lives(draw: st.DrawFn) -> list[AnyOf]:
    """Any order of events in a world's life, and stays and pauses without rhyme or reason."""
    entries: list[AnyOf] = []
    moments = sorted(draw(st.lists(seconds, max_size=24)))
    step, committed = 0, 0
    for number in range(len(moments) // 4):
        published, first, last, ended = moments[4 * number : 4 * number + 4]
        restored, step = committed, committed + draw(st.integers(0, 9))
        committed = draw(st.integers(committed, step))
        trained = draw(st.booleans())
        entries.append(
            WorldEntry(
                number=number,
                size=1,
                published_at=at(published),
                first_step_at=at(first) if trained else None,
                last_step_at=at(last) if trained else None,
                restored_step=restored if trained else None,
                last_step=step if trained else None,
                committed_step=committed or None,
                ended_at=at(ended),
                reason=draw(st.sampled_from(["notice", "loss", "stall", "growth"])),
                save_stall_seconds=draw(seconds),
                data_wait_seconds=draw(seconds),
            )
        )
        step = step if trained else restored
    for number in range(draw(st.integers(0, 4))):
        created, scheduled, started, ended = sorted(draw(st.tuples(*[seconds] * 4)))
        known = draw(st.integers(0, 3))
        entries.append(
            stay(
                str(number),
                created,
                scheduled if known > 0 else None,
                started if known > 1 else None,
                ended if known > 2 else None,
            )
        )
    for since, until in list(pairwise(sorted(draw(st.lists(seconds, max_size=4)))))[::2]:
        entries.append(PauseEntry(since=at(since), until=at(until)))
    for since, spent in draw(st.lists(st.tuples(seconds, seconds), max_size=3)):
        entries.append(BackOffEntry(since=at(since), until=at(since + spent)))
    return entries


def perhaps(moments: st.SearchStrategy[float]) -> st.SearchStrategy[datetime | None]:
    return st.none() | moments.map(at)


@st.composite
def disorder(draw: st.DrawFn) -> list[AnyOf]:
    """What clocks that differ can make of it: any moment may come before any other, or lack."""
    steps = st.none() | st.integers(0, 20)
    moments = perhaps(seconds)
    entries: list[AnyOf] = [
        WorldEntry(
            number=number,
            size=1,
            published_at=at(draw(seconds)),
            first_step_at=draw(moments),
            last_step_at=draw(moments),
            restored_step=draw(steps),
            last_step=draw(steps),
            committed_step=draw(steps),
            ended_at=draw(moments),
            reason=draw(st.sampled_from(["notice", "loss", "stall", "growth", "finished", ""])),
            save_stall_seconds=draw(seconds),
            data_wait_seconds=draw(seconds),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    moment = st.none() | seconds
    entries += [
        stay(str(number), draw(seconds), draw(moment), draw(moment), draw(moment))
        for number in range(draw(st.integers(0, 4)))
    ]
    for since, until in list(pairwise(sorted(draw(st.lists(seconds, max_size=4)))))[::2]:
        entries.append(PauseEntry(since=at(since), until=at(until)))
    for since, spent in draw(st.lists(st.tuples(seconds, seconds), max_size=3)):
        entries.append(BackOffEntry(since=at(since), until=at(since + spent)))
    return entries


def test_a_world_that_a_slower_clock_published_is_not_counted_beside_the_one_before() -> None:
    """Another controller took over, 5 s behind the first; the job trained for 100 s in all."""
    before = world(1, 0, 0, 60, reason="loss")
    between = world(2, 60, 0, 0, first_step_at=None, last_step=None, ended_at=at(61))
    after = world(3, 55, 57, 100, restored_step=100, last_step=200, committed_step=200)
    found = split(before, between, after, stay("a", 0, 0, 0, 100), min_workers=1)
    assert found.wanted_seconds == 100
    assert (found.useful_seconds, losses(found)) == (55 + 43, {"forming": 2})


@given(lives() | disorder(), seconds, st.integers(1, 3))
def test_the_causes_add_up_to_what_was_not_useful(
    entries: list[AnyOf], end: float, min_workers: int
) -> None:
    found = split(*entries, end=end, min_workers=min_workers)
    paused = sum(
        Span(entry.since, min(entry.until or at(end), at(end))).seconds
        for entry in entries
        if isinstance(entry, PauseEntry)
    )
    assert found.wanted_seconds == pytest.approx(end - paused, abs=1e-5)
    assert found.useful_seconds >= 0
    assert all(seconds >= 0 for seconds in losses(found).values())
    if (share := ettr(found, ())) is not None:
        lost = sum(seconds / found.wanted_seconds for seconds in losses(found).values())
        assert lost == pytest.approx(1 - share, abs=1e-9)
