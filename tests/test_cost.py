from typing import Any

import pytest

from spotrain.ledger.cost import Cost, cost

TEN_HOURS = (0.0, 36_000.0)
PRICES = {"spot_usd_per_hour": 0.158, "on_demand_usd_per_hour": 0.526}


def test_the_worked_example_comes_out() -> None:
    result = cost([TEN_HOURS] * 4, **PRICES, goodput=0.95)
    assert result.node_hours == pytest.approx(40)
    assert result.spot_usd == pytest.approx(6.32)
    assert result.on_demand_usd == pytest.approx(19.988)
    assert result.saved_fraction == pytest.approx(0.6838, abs=1e-4)


def test_a_perfect_job_saves_the_discount() -> None:
    result = cost([TEN_HOURS], spot_usd_per_hour=0.3, on_demand_usd_per_hour=1.0, goodput=1.0)
    assert result.saved_fraction == pytest.approx(0.7)


def test_the_saving_is_one_minus_price_ratio_over_goodput() -> None:
    for goodput in (0.25, 0.5, 0.75, 1.0):
        result = cost([(5.0, 77.0), (6.0, 9.0)], **PRICES, goodput=goodput)
        assert result.saved_fraction == pytest.approx(1 - 0.158 / 0.526 / goodput)


def test_wasted_spot_hours_can_cost_more_than_on_demand() -> None:
    result = cost([TEN_HOURS], spot_usd_per_hour=0.3, on_demand_usd_per_hour=1.0, goodput=0.2)
    assert result.saved_fraction == pytest.approx(-0.5)


def test_without_useful_work_no_saving_is_claimed() -> None:
    result = cost([TEN_HOURS], **PRICES, goodput=0.0)
    assert result.spot_usd == pytest.approx(1.58)
    assert result.on_demand_usd == 0
    assert result.saved_fraction is None


def test_no_node_costs_nothing() -> None:
    assert cost([], **PRICES, goodput=1.0) == Cost(0, 0, 0, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"goodput": -0.1}, "goodput is -0.1, but must be a share", id="goodput"),
        pytest.param({"goodput": float("nan")}, "goodput is nan", id="goodput unknown"),
        pytest.param({"spot_usd_per_hour": -1}, "spot price is -1 dollars", id="price"),
        pytest.param({"on_demand_usd_per_hour": -1}, "on-demand price is -1", id="list price"),
    ],
)
def test_impossible_numbers_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cost([TEN_HOURS], **{**PRICES, "goodput": 1.0, **change})


def test_a_life_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2.0, 1.0\), but must be \(start, end\)"):
        cost([(2.0, 1.0)], **PRICES, goodput=1.0)
