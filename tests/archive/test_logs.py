"""Kept output: no line twice, none missing, whatever restarts; bounded, by whole segments."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotrain.archive.log_files import JobLogs, LogBounds, choose_victim, segment_sizes
from spotrain.archive.log_lines import (
    CUT,
    LONGEST_LINE,
    Cursor,
    LineSplitter,
    Resumption,
    normalize_time,
    parse_line,
)
from spotrain.archive.log_reader import LogQuery, LogReader
from spotrain.archive.records import LogLine

BOUNDS = LogBounds(segment=2_000, worker=20_000, job=40_000)


def moment(tick: int) -> str:
    return f"2026-08-01T12:{tick // 60:02d}:{tick % 60:02d}.000000000Z"


def line(tick: int, worker: int = 0, pod_uid: str = "p", text: str = "") -> LogLine:
    said = text or f"line {tick}"
    return LogLine(at=moment(tick), worker=worker, pod="pod", pod_uid=pod_uid, line=said)


def read(folder: Path, **query: object) -> list[str]:
    return [found.line for found in LogReader(folder, LogQuery(**query)).read()]  # type: ignore[arg-type]


@given(st.lists(st.sampled_from([b"a", b"bc\n", b"\n", b"d\nef", b"x" * 50])), st.integers(1, 7))
def test_lines_are_the_same_however_they_come_in_pieces(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    whole, pieces = LineSplitter(), LineSplitter()
    expected = [*whole.feed(data), *whole.end()]
    found = [one for i in range(0, len(data), size) for one in pieces.feed(data[i : i + size])]
    assert [*found, *pieces.end()] == expected
    assert b"\n".join(expected) == data.removesuffix(b"\n")


def test_a_line_without_an_end_takes_no_memory_without_an_end() -> None:
    splitter = LineSplitter()
    for _ in range(100):
        assert splitter.feed(b"x" * 10_000) == []
    (found, other) = splitter.feed(b"\nnext\n")
    assert (len(found), found[-len(CUT) :], other) == (LONGEST_LINE + len(CUT), CUT, b"next")


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2026-08-01T12:00:00Z", "2026-08-01T12:00:00.000000000Z"),
        ("2026-08-01T12:00:00.5Z", "2026-08-01T12:00:00.500000000Z"),
        ("2026-08-01T14:00:00.123456789+02:00", "2026-08-01T12:00:00.123456789Z"),
        ("2026-13-01T12:00:00Z", ""),
        ("yesterday", ""),
    ],
)
def test_moments_sort_as_text(given_time: str, expected: str) -> None:
    assert normalize_time(given_time) == expected


def test_a_line_without_a_time_is_told_from_one_with() -> None:
    assert parse_line(b"2026-08-01T12:00:00Z loss 0.5\r") == (moment(0), "loss 0.5")
    assert parse_line(b"unable to retrieve container logs") is None


@given(
    ticks=st.lists(st.integers(0, 3), max_size=30),
    restarts=st.lists(st.integers(0, 30), max_size=5),
)
def test_reading_on_after_restarts_repeats_and_loses_nothing(
    ticks: list[int], restarts: list[int]
) -> None:
    """A kubelet is asked by the second, and many lines have the same moment."""
    log = [moment(tick) for tick in sorted(ticks)]
    kept: list[str] = []
    cursor = Cursor()
    for end in [*sorted(restarts), len(log)]:
        resumption = Resumption(cursor)
        for at in [at for at in log[:end] if at >= cursor.since.rstrip("Z")]:
            if resumption.is_new(at):
                kept.append(at)
                cursor = cursor.advance(at)
    assert kept == log


@settings(max_examples=40)
@given(steps=st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=12))
def test_the_cursor_is_found_again_after_any_restart(
    steps: list[tuple[int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    logs, tick, expected = JobLogs(folder, BOUNDS), 0, Cursor()
    for count, is_restarted in steps:
        lines = [line(tick + i // 2, text="x" * 300) for i in range(count)]
        tick += count
        logs.append(0, lines)
        for one in lines:
            expected = expected.advance(one.at)
        if is_restarted:
            logs = JobLogs(folder, BOUNDS)
        assert logs.cursor(0, "p") == expected
    assert sum(segment_sizes(folder).values()) <= BOUNDS.worker + 4_000


def test_old_segments_go_whole_and_the_rest_says_how_much(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, BOUNDS)
    for tick in range(300):
        logs.append(0, [line(tick, text=f"{tick} " + "x" * 200)])
    ticks = [int(text.split()[0]) for text in read(tmp_path)]
    assert ticks == list(range(ticks[0], 300))
    assert ticks[0] > 0
    assert logs.cursor(0, "gone") == Cursor()


def test_one_talkative_worker_leaves_the_others_theirs(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, LogBounds(segment=2_000, worker=30_000, job=30_000))
    for worker in (1, 2):
        logs.append(worker, [line(0, worker, text="y" * 500)])
    for tick in range(300):
        logs.append(0, [line(tick, text="x" * 300)])
    assert read(tmp_path, worker=1) == ["y" * 500]
    assert sum(segment_sizes(tmp_path).values()) < 36_000


@given(
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(1, 9)), st.integers(1, 5_000)),
    st.integers(0, 4),
)
def test_nobodys_last_segment_goes(sizes: dict[tuple[int, int], int], worker: int) -> None:
    left = dict(sizes)
    while (victim := choose_victim(left, worker, BOUNDS)) is not None:
        del left[victim]
    assert {w for w, _ in left} == {w for w, _ in sizes}
    for one in {w for w, _ in sizes}:
        newest = max(number for w, number in sizes if w == one)
        assert (one, newest) in left


def test_a_half_written_line_is_not_told_and_is_written_over(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, BOUNDS)
    logs.append(0, [line(1)])
    (segment,) = tmp_path.iterdir()
    with segment.open("ab") as file:
        file.write(b'{"at":"2026')
    assert read(tmp_path) == ["line 1"]
    JobLogs(tmp_path, BOUNDS).append(0, [line(2)])
    assert read(tmp_path) == ["line 1", "line 2"]


def test_all_workers_are_one_stream_in_time_order(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, BOUNDS)
    logs.append(1, [line(2, 1), line(5, 1)])
    logs.append(0, [line(1), line(3)])
    reader = LogReader(tmp_path, LogQuery())
    assert [found.line for found in reader.read()] == ["line 1", "line 2", "line 3", "line 5"]
    assert list(reader.read()) == []
    logs.append(0, [line(6)])
    assert [found.line for found in reader.read()] == ["line 6"]


def test_lines_are_found_by_worker_and_time(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, BOUNDS)
    logs.append(1, [line(2, 1)])
    logs.append(0, [line(1), line(3), line(5)])
    assert read(tmp_path, worker=1) == ["line 2"]
    assert read(tmp_path, since=moment(2), until=moment(5)) == ["line 2", "line 3"]
    assert read(tmp_path / "nowhere") == []


def test_each_pod_of_a_worker_has_its_own_cursor(tmp_path: Path) -> None:
    logs = JobLogs(tmp_path, BOUNDS)
    logs.append(0, [line(1, pod_uid="first"), line(1, pod_uid="first")])
    logs.append(0, [line(7, pod_uid="second")])
    again = JobLogs(tmp_path, BOUNDS)
    assert again.cursor(0, "first") == Cursor(moment(1), 2)
    assert again.cursor(0, "second") == Cursor(moment(7), 1)
