"""Lines of a log that is read again from where it broke off: none twice, none lost."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from spotrain.archive.records import LogLine
from spotrain.cli.shown_lines import LATE, ShownLines

START = datetime(2026, 1, 1, tzinfo=UTC)


def line(worker: int, second: int, said: str = "", pod: int = 0) -> LogLine:
    at = f"{START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%S}.000000000Z"
    name = f"w-{worker}"
    return LogLine(at=at, worker=worker, pod=name, pod_uid=f"{name}-{pod}", line=said)


def read(kept: Sequence[LogLine], since: str) -> list[LogLine]:
    """As the archive answers: in time order among all that is there."""
    return sorted((each for each in kept if each.at >= since), key=lambda each: each.at)


@given(
    seconds=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40),
    breaks=st.lists(st.integers(0, 40), max_size=5),
    shown_before_break=st.integers(0, 10),
)
def test_however_often_it_breaks_off_each_line_is_shown_once(
    seconds: list[tuple[int, int]], breaks: list[int], shown_before_break: int
) -> None:
    """Many lines have the same moment, and workers' lines come late, in any order among them."""
    clocks = [0, 0, 0]
    written = []
    for number, (worker, later) in enumerate(seconds):
        clocks[worker] += later
        written.append(line(worker, clocks[worker], str(number)))
    shown, seen = ShownLines(), list[LogLine]()
    for there in sorted(breaks):
        again = read(written[:there], shown.since)[:shown_before_break]
        seen += shown.new(again)
    seen += shown.new(read(written, shown.since))
    assert sorted(each.line for each in seen) == sorted(each.line for each in written)


def test_what_is_asked_for_again_is_little_and_has_room_for_a_worker_that_spoke_late() -> None:
    shown, hour = ShownLines(), 3600
    assert shown.since == ""
    list(shown.new([line(0, 0), line(1, 2 * hour), line(0, hour)]))
    late = int(LATE.total_seconds())
    assert shown.since == line(0, hour - late).at
    (late_one,) = shown.new([line(2, hour - late + 1)])
    assert late_one.worker == 2


def test_a_worker_that_has_another_pod_is_shown_from_the_pods_first_line() -> None:
    shown = ShownLines()
    list(shown.new([line(0, 5, "old")]))
    again = [line(0, 5, "old"), line(0, 5, "new", pod=1)]
    assert [each.line for each in shown.new(again)] == ["new"]
