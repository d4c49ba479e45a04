"""A job's line says what its document says."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.cli.job_rows import JobRow, row_of_document, wanted
from spotrain.cli.job_table import COLUMNS, GAP, LEFT_OUT, NAME, fitting, tabulate
from spotrain.cli.job_view import view
from spotrain.job import parse_job
from tests.cli.documents import job

AT = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = st.none() | st.integers(1, 9)


@given(asked=st.integers(1, 9), least=NUMBERS, most=NUMBERS)
def test_the_workers_wanted_are_those_that_the_controller_reads(
    asked: int, least: int | None, most: int | None
) -> None:
    if least and most and least > most:
        return
    document = job(minReplicas=least, maxReplicas=most)
    document["spec"]["replicaSpecs"]["Worker"]["replicas"] = asked
    assert wanted(asked, least=least, most=most) == parse_job(document).replicas


@pytest.mark.parametrize("suspend", [False, True])
@pytest.mark.parametrize("state", ["", "Running", "Suspended", "Failed"])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_line_and_a_status_name_one_state(state: str, suspend: bool, is_deleted: bool) -> None:
    document = job(suspend=suspend, status={"state": state} if state else {})
    if is_deleted:
        document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert row_of_document(document).state == view(document).state


def test_what_nobody_has_told_is_left_open() -> None:
    row = row_of_document(job(status={"progress": None, "ledger": {"since": "x"}}))
    assert (row.step, row.steps_per_second, row.usd, row.gpu, row.ready) == (
        None,
        None,
        None,
        "",
        0,
    )


TITLES = [column.title for column in COLUMNS]


@given(
    widths=st.fixed_dictionaries({title: st.integers(3, 40) for title in TITLES}),
    width=st.integers(10, 300),
)
def test_columns_are_left_out_until_the_rest_fits(widths: dict[str, int], width: int) -> None:
    shown = fitting(widths, width)
    assert shown == [title for title in TITLES if title in shown]
    left_out = [title for title in LEFT_OUT if title not in shown]
    assert left_out == list(LEFT_OUT[: len(left_out)])

    def needed(titles: list[str]) -> int:
        each = {**widths, "job": min(widths["job"], NAME)}
        return sum(each[title] for title in titles) + GAP * (len(titles) - 1)

    assert len(left_out) == len(LEFT_OUT) or needed(list(shown)) <= width
    if left_out:
        assert (
            needed([title for title in TITLES if title in shown or title == left_out[-1]]) > width
        )


def test_empty_columns_are_left_out_first() -> None:
    widths = dict.fromkeys(TITLES, 8)
    assert fitting(widths, 80, empty={"cost"}) == [title for title in TITLES if title != "cost"]


def row(name: str) -> JobRow:
    return JobRow(
        name=name,
        created_at=AT,
        state="Running",
        ready=3,
        wanted=4,
        gpu="a100",
        step=1_234_567,
        steps_left=45_678,
        steps_per_second=4.125,
        usd=123.45,
    )


@pytest.mark.parametrize("width", [40, 60, 80, 200, None])
def test_a_table_is_as_wide_as_the_terminal_at_most_and_loses_no_name(width: int | None) -> None:
    names = ["digits", "resnet50-imagenet-lr-0-1-batch-256-seed-42"]
    lines = tabulate([row(name) for name in names], AT, width=width)
    on_screen = [part for line in lines for part in line.split("\n")]
    assert max(map(len, on_screen)) <= (width or 1000)
    for name, line in zip(names, lines[2:], strict=True):
        first, *more = line.split("\n")
        assert first.split()[0] + "".join(more) == name
        assert first.split()[1:3] == ["Running", "3/4"]
    is_whole = width is None or width == 200
    assert ("a100" in lines[2], "\n" in lines[3]) == (width != 40 and width != 60, not is_whole)
