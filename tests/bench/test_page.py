"""The page of benchmarks, and its figures, show the raw data that was kept, and nothing else."""

import re
from pathlib import Path

import pytest

from bench.figure import Dots, Line, Lines, Series, save
from bench.kept import SHOWN, read, shown
from bench.page import FIGURES, PAGE, put


@pytest.mark.parametrize("name", SHOWN)
def test_a_block_is_that_of_its_data(name: str) -> None:
    page = PAGE.read_text()
    assert put(page, name, shown(name)) == page


@pytest.mark.parametrize("name", [name for name in SHOWN if read(name)])
def test_a_figure_is_that_of_its_data(name: str, tmp_path: Path) -> None:
    found = read(name)
    assert found
    save(SHOWN[name].figure(found), name, tmp_path)
    assert texts(tmp_path / f"{name}.svg") == texts(FIGURES / f"{name}.svg")


def texts(figure: Path) -> list[str]:
    """What is written in it: curves may differ in their last digits from machine to machine."""
    return re.findall(r"<!-- (.*) -->", figure.read_text())


def test_a_page_without_a_place_for_the_block_is_refused() -> None:
    with pytest.raises(ValueError, match="needs <!-- x: begin -->"):
        put("# Performance\n", "x", "text")


def test_rows_stand_in_the_order_asked_for_and_what_never_ended_is_a_cross(tmp_path: Path) -> None:
    first = Series(label="ours", color="#000000", rows={"b": [1.0], "c": [float("inf")]})
    second = Series(label="theirs", color="#ff0000", rows={"a": [2.0], "b": [3.0]})
    dots = Dots(
        title="Title",
        unit="seconds",
        series=[first, second],
        ticks=(1, 10),
        never=30.0,
        order=["a", "b"],
    )
    assert dots.rows == ["a", "b", "c"]
    assert dots.is_shared
    save(dots, "x", tmp_path)
    assert {"Title", "never", "ours", "theirs"} <= set(texts(tmp_path / "x.svg"))


def test_a_row_of_one_series_needs_no_legend(tmp_path: Path) -> None:
    alone = Series(label="ours", color="#000000", rows={"a": [-5.0, 1.0]})
    save(Dots(title="", unit="", series=[alone], limits=(0, 2), goal=1.0), "x", tmp_path)
    assert {"goal", "a"} <= set(texts(tmp_path / "x.svg"))
    assert "ours" not in texts(tmp_path / "x.svg")


def test_lines_of_all_panels_share_a_legend(tmp_path: Path) -> None:
    line = Line(label="ours", color="#000000", points=[(0.0, 0.0), (1.0, 2.0)])
    save(Lines(title="T", unit="s", height="work", panels=[[line], [line]]), "x", tmp_path)
    assert texts(tmp_path / "x.svg").count("ours") == 1
    assert {"part 1 of 2", "part 2 of 2", "work"} <= set(texts(tmp_path / "x.svg"))
