"""What is told of a job whose process was killed, and what its ledger says once it is resumed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from spotrain.controller.status import JobStatus
from spotrain.ledger.account import Account, Record
from spotrain.ledger.closing import split_record
from spotrain.ledger.entries import PauseEntry, StayEntry, WorldEntry
from spotrain.local.absence import without_process

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


TRAINS = JobStatus(
    history=(
        WorldEntry(
            number=1,
            size=1,
            published_at=at(5),
            first_step_at=at(10),
            last_step_at=at(100),
            restored_step=0,
            last_step=90,
            committed_step=90,
        ),
    ),
    ledger=Account(
        since=START,
        stays=(
            StayEntry(
                pod="digits-worker-0",
                uid="first",
                gpus=0,
                created_at=START,
                scheduled_at=START,
                started_at=START,
            ),
        ),
    ),
)
"""It did a step a second from 10 on."""


def test_what_was_open_ended_with_the_process() -> None:
    found = without_process(TRAINS, at(100), until=None)
    assert found.ledger
    assert [stay.ended_at for stay in found.ledger.stays] == [at(100)]
    (world,) = found.history
    assert (world.ended_at, world.reason) == (at(100), "loss")
    again = without_process(found, at(100), until=None)
    assert again == found


def test_time_without_a_process_is_neither_used_nor_lost() -> None:
    for until, now in ((None, at(10_000)), (at(9_000), at(9_000))):
        found = without_process(TRAINS, at(100), until=until)
        assert found.ledger
        record = Record(account=found.ledger, worlds=found.history)
        split = split_record(record, now, min_workers=1)
        assert (split.useful_seconds, split.wanted_seconds) == (90, 100)


def test_a_job_that_was_suspended_stays_so() -> None:
    assert TRAINS.ledger
    paused = replace(TRAINS.ledger, pauses=(PauseEntry(since=at(50)),))
    found = without_process(replace(TRAINS, ledger=paused), at(100), until=at(200))
    assert found.ledger
    assert found.ledger.pauses == (PauseEntry(since=at(50)),)
