"""Tables in terminals of any width: no number is cut off, or parted from its unit."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from spotrain.cli.fitted import Column, FactTable, FittedTable, Paragraphs, lines_of

WORLDS = FittedTable(
    columns=(
        Column(title="world", is_number=True),
        Column(title="steps", is_number=True),
        Column(title="ended by"),
        Column(title="pause", is_number=True),
        Column(title="lost", is_number=True),
    ),
    rows=[
        ("1", "0 - 1,234,567", "notice", "1,234.5 s", ""),
        ("2", "1,234,567 - 2,345,678", "loss", "0.2 s", ""),
    ],
    left_out=("pause", "lost"),
    title="Worlds",
)


def drawn(renderable: RenderableType, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().splitlines()


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        pytest.param(80, "world steps ended by pause lost", id="all"),
        pytest.param(56, "world steps ended by pause", id="the-empty-one-goes-first"),
        pytest.param(48, "world steps ended by", id="then-the-least-telling"),
    ],
)
def test_columns_go_before_a_number_is_cut(width: int, titles: str) -> None:
    lines = drawn(WORLDS, width)
    assert " ".join(lines[2].split()) == titles
    assert any("1,234,567 - 2,345,678" in line for line in lines)
    assert max(map(len, lines)) <= width


@given(st.integers(14, 120))
def test_no_line_of_facts_is_too_wide_or_begins_with_a_unit(width: int) -> None:
    said = "step 2,131, 12 s ago; 136 steps/s, 17,367 samples/s; 3.1 GB read by 1 worker for $0.25"
    lines = lines_of(said, width)
    assert " ".join(lines) == said or width < 17
    assert max(map(len, lines)) <= width
    if width >= 17:
        assert not any(re.match(r"(s|steps/s|samples/s|GB|worker)\b", line) for line in lines)
        assert not any(re.search(r"\bstep$", line) for line in lines)


def test_facts_go_on_below_where_they_began() -> None:
    lines = drawn(FactTable([("state", "Running for 12 s"), ("left", "79 s, if it goes on")]), 20)
    assert [line.rstrip() for line in lines] == [
        "state  Running for",
        "       12 s",
        "left   79 s, if it",
        "       goes on",
    ]


def test_paragraphs_stay_apart_and_break_before_a_number_and_its_unit() -> None:
    lines = drawn(Paragraphs("It trains in world 1 of 2 workers.\n\nNext: wait"), 32)
    assert [line.rstrip() for line in lines] == [
        "It trains in world 1",
        "of 2 workers.",
        "",
        "Next: wait",
    ]


def test_what_a_job_is_named_is_no_markup() -> None:
    table = FittedTable(columns=(Column(title="job", has_words=True),), rows=[("[red]x[/red]",)])
    assert any("[red]x[/red]" in line for line in drawn(table, 80))
