"""What the page says was saved follows from the traces and the figures that it names."""

import json
from typing import Any

import pytest

from bench.cost import report
from bench.cost.__main__ import FILES, published
from bench.cost.compare import ORACLE, OURS, compare, described, sampled, young_interval
from bench.cost.figures import Figure, Figures, read_figures
from bench.page import RESULTS
from spotrain.ledger.traces import Trace


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "cost.json").read_text())
    return found


def test_the_kept_rows_are_those_of_the_kept_figures(kept: dict[str, Any]) -> None:
    figures = Figures(**{name: Figure(**each) for name, each in kept["figures"].items()})
    trace = {"g4dn": sampled(published("g4dn"))}
    assert compare(trace, figures) == [row for row in kept["rows"] if row["trace"] == "g4dn"]
    assert list(described(trace)) == [each for each in kept["traces"] if each["trace"] == "g4dn"]


def test_nobody_does_better_than_the_oracle(kept: dict[str, Any]) -> None:
    best = {row["trace"]: row["saved"] for row in kept["rows"] if row["who"] == ORACLE}
    assert set(best) == set(FILES)
    assert all(row["saved"] is None or row["saved"] <= best[row["trace"]] for row in kept["rows"])


def test_the_goals_are_met(kept: dict[str, Any]) -> None:
    saved = {(row["who"], row["trace"]): row["saved"] for row in kept["rows"]}
    for trace in ("p3", "g4dn"):
        assert saved[OURS, trace] >= 0.65
        assert saved[OURS, trace] >= 0.95 * saved[ORACLE, trace]


def test_figures_are_read_from_what_was_measured() -> None:
    figures = read_figures()
    assert 0 < figures.loss.seconds < figures.tuned.seconds < figures.stock.seconds
    assert 0 < figures.save.seconds < figures.torch_save.seconds


def test_sampling_keeps_shares_and_rounds_halves_up() -> None:
    trace = Trace(((0.0, 0), (10.0, 32), (20.0, 1), (30.0, 3)), 40.0)
    assert [nodes for _, nodes in sampled(trace).counts] == [0, 16, 1, 2]


def test_the_interval_of_ours_grows_with_cost_and_time_between_losses() -> None:
    trace = Trace(((0.0, 4), (100.0, 3), (200.0, 4), (300.0, 3)), 800.0)
    assert young_interval(trace, 2.0, 1.0) == pytest.approx((2 * 2 * 400) ** 0.5)
    assert young_interval(trace, 2.0, 0.1) == pytest.approx((2 * 2 * 800) ** 0.5)


def test_the_figure_has_each_trace(kept: dict[str, Any]) -> None:
    series = report.figure(kept).series
    assert [each.label for each in series] == [f"trace {name}" for name in FILES]
    assert all(len(each.rows) == len(report.figure(kept).rows) for each in series)
