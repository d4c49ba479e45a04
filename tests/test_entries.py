"""Entries of the ledger survive JSON, and a newer version's fields do no harm."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.entries import (
    BackOffEntry,
    MetricsEntry,
    NodeEntry,
    PauseEntry,
    StayEntry,
    WorldEntry,
    from_document,
    to_document,
)

SECONDS = st.floats(min_value=0, allow_infinity=False)
WORLDS = st.builds(
    WorldEntry,
    pause_seconds=st.none() | SECONDS,
    save_stall_seconds=SECONDS,
    data_wait_seconds=SECONDS,
)
METRICS = st.builds(
    MetricsEntry,
    values=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
)
OTHERS = [st.from_type(kind) for kind in (StayEntry, PauseEntry, BackOffEntry, NodeEntry)]


@given(st.one_of(WORLDS, METRICS, *OTHERS))
def test_an_entry_comes_back_from_json_as_it_was(
    entry: WorldEntry | MetricsEntry | StayEntry | PauseEntry | BackOffEntry | NodeEntry,
) -> None:
    assert from_document(json.loads(json.dumps(to_document(entry)))) == entry


def test_fields_of_a_newer_version_pass_unread() -> None:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    entry = PauseEntry(since=at)
    assert from_document({**to_document(entry), "whim": 1}) == entry


def test_what_is_no_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        from_document({"kind": "rumour"})
