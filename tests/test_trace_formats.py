"""Records of spot capacity, in the words of those who published them."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.trace_formats import TraceError, read_trace
from spotrain.ledger.traces import Trace

TRACES = Path(__file__).parents[1] / "bench/traces"
SKYPILOT = '{"metadata": {"gap_seconds": 300}, "data": [0, 3, 3, 16, 2, 2]}'


def published(name: str) -> Trace:
    return read_trace((TRACES / name).read_text())


def test_events_say_who_came_and_who_went() -> None:
    found = read_trace("0,add,n1\n0,add,n2\n60000,remove,n1\n90000,add,n3\n120000,remove,n3\n")
    assert found == Trace(((0.0, 2), (60.0, 1), (90.0, 2)), 120.0)


def test_counts_say_how_many_there_are_after_each_change() -> None:
    found = read_trace("0,1\n0,2\n60000,1\n90000,2\n120000,1\n")
    assert found == Trace(((0.0, 2), (60.0, 1), (90.0, 2)), 120.0)


def test_two_recordings_of_the_same_nodes_are_the_same_trace() -> None:
    bamboo, parcae = published("bamboo-p3.csv"), published("parcae-p3.csv")
    until = min(bamboo.seconds, parcae.seconds)
    assert bamboo.window(0, until) == parcae.window(0, until)


def test_ticks_say_how_many_were_to_be_had() -> None:
    assert read_trace(SKYPILOT) == Trace(((0.0, 0), (300.0, 3), (900.0, 16), (1200.0, 2)), 1800.0)


def test_a_clock_that_goes_back_corrects_what_was_said_since() -> None:
    found = read_trace(
        "2021-12-10, 13:07:45, 80\n2021-12-10, 13:08:45, 80\n2021-12-10, 13:09:45, 80\n"
        "2021-12-10, 13:08:45, 70\n2021-12-10, 13:09:45, 70\n2021-12-11, 13:07:45, 70\n"
    )
    assert found == Trace(((0.0, 80), (60.0, 70)), 86400.0)


@pytest.mark.parametrize(
    ("name", "hours", "most", "drops"),
    [
        ("bamboo-p3.csv", 11.4, 32, 78),
        ("bamboo-g4dn.csv", 10.8, 24, 47),
        ("bamboo-gcloud-a100.txt", 27.0, 64, 36),
        ("bamboo-gcloud-v100.txt", 24.2, 80, 55),
        ("parcae-p3.csv", 11.4, 32, 78),
    ],
)
def test_published_traces_are_read(name: str, hours: float, most: int, drops: int) -> None:
    found = published(name)
    # The drop with which p3 and g4dn end comes after all that is played.
    assert (round(found.seconds / 3600, 1), found.most, found.drops) == (hours, most, drops)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("0,add,n0\n0,add\n", "line 2 is '0,add'", id="a field lacks"),
        pytest.param("0,add,n0\nsoon,add,n1\n", "line 2 is 'soon,add,n1'", id="no time"),
        pytest.param("0,add,n0\n0,vanish,n1\n", "add or remove", id="neither"),
        pytest.param(
            "0,add,n0\n1,remove,n0\n2,remove,n0\n3,add,n1\n",
            "never fewer than 0",
            id="less than none",
        ),
        pytest.param("0,2\n1000,x\n", "line 2 is '1000,x'", id="no count"),
        pytest.param("0,2\n1000,-1\n2000,1\n", "never fewer", id="a count below 0"),
        pytest.param("2021-12-10, 13:07:45, 8\n2021-12-10, noon, 8\n", "line 2", id="no clock"),
        pytest.param("", "it begins with ''", id="nothing"),
        pytest.param(" \n\n", "it begins with ''", id="blank lines"),
        pytest.param("0,4\n", "go on in order of time", id="no time passes"),
        pytest.param('{"data": [1]}', "gap_seconds", id="no gap"),
        pytest.param('{"metadata": {"gap_seconds": 0}, "data": [1]}', "above 0", id="a gap of 0"),
        pytest.param('{"metadata": {"gap_seconds": 9}, "data": ["1"]}', "list data", id="text"),
        pytest.param('{"metadata": {"gap_seconds": 9}, "data": [[1]]}', "list data", id="lists"),
        pytest.param('{"metadata": {"gap_seconds": 9}, "data": []}', "go on", id="no tick"),
        pytest.param('{"metadata": ', "is JSON or begins like it", id="half a file"),
        pytest.param("PK\x03\x04", "a trace has", id="something else"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_fault(text: str, fault: str) -> None:
    with pytest.raises(TraceError, match=fault):
        read_trace(text)


@given(st.text() | st.from_regex(r"([0-9a-z, {}\[\]:\"-]{0,20}\n?){0,5}"))
def test_any_text_is_a_trace_or_is_refused(text: str) -> None:
    with suppress(TraceError):
        assert read_trace(text).seconds > 0


def test_a_trace_repeats_without_a_seam() -> None:
    assert read_trace(SKYPILOT).repeated(2).counts[4:] == (
        (1800.0, 0),
        (2100.0, 3),
        (2700.0, 16),
        (3000.0, 2),
    )
