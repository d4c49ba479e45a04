"""What overflows a record's lists is settled, and counts as before."""

from datetime import UTC, datetime, timedelta

from spotrain.ledger.account import Account, Record
from spotrain.ledger.closing import Closing, split_record
from spotrain.ledger.entries import PauseEntry
from spotrain.ledger.settlement import NEWEST, settle

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_of_two_pauses_that_began_at_one_moment_each_is_forgotten_alone() -> None:
    """The first lasted no time, as somebody typed resume and stop at once."""
    pauses = [PauseEntry(since=at(0), until=at(0)), PauseEntry(since=at(0), until=at(500))]
    pauses += [PauseEntry(since=at(1000 + n), until=at(1000.5 + n)) for n in range(NEWEST)]
    record = Record(account=Account(since=NOON, pauses=tuple(pauses)))
    closing = Closing(time=at(530), stays=at(530), min_workers=1)
    settled = settle(record, closing, present=frozenset())
    assert len(settled.account.pauses) == len(pauses) - 1
    for each in (record, settled):
        assert split_record(each, at(530), min_workers=1).wanted_seconds == 30
