"""Dollars of charges, by whatever one asks for, and what was saved."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.job import Pool
from spotrain.ledger.attribution import Charge, Use
from spotrain.ledger.cost import Amount, Saving, bill, grouped, saving_at, total
from spotrain.ledger.entries import Place
from spotrain.ledger.prices import PriceBook, Quote, Source

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = {"usd_per_hour": 0.158, "on_demand_usd_per_hour": 0.526}
POOL = Pool(
    name="t4",
    gpu="t4",
    gpus_per_node=4,
    capacity="spot",
    zones=("a", "b"),
    instance_types=("g4dn.12xlarge",),
    max_nodes=4,
    notice_seconds=90,
    spot_usd_per_hour=2.0,
    on_demand_usd_per_hour=4.0,
)


def place(zone: str = "a") -> Place:
    return Place(
        pool="t4", zone=zone, capacity=contract.CAPACITY_SPOT, instance_type="g4dn.12xlarge"
    )


def charge(
    start: float,
    end: float,
    *,
    job: str | None = "j",
    use: Use = Use.HELD,
    zone: str = "a",
    share: Fraction = Fraction(1),
) -> Charge:
    return Charge(
        job=job,
        use=use,
        node="n1",
        place=place(zone),
        gpus=4,
        share=share,
        start=NOON + start * HOUR,
        end=NOON + end * HOUR,
    )


def quote(hours: float, usd: float) -> Quote:
    since = NOON + hours * HOUR
    return Quote(instance_type="g4dn.12xlarge", zone="a", usd_per_hour=usd, since=since)


def test_a_charge_pays_each_price_for_as_long_as_it_was_in_force() -> None:
    book = PriceBook([POOL], quotes=[quote(-1, 1.0), quote(3, 3.0)])
    (line,) = bill([charge(0, 4, share=Fraction(1, 4))], book)
    assert (line.source, line.use, line.job) == (Source.HISTORY, Use.HELD, "j")
    assert line.amount == Amount(node_hours=1, gpu_hours=4, usd=0.25 * (3 * 1 + 3), list_usd=4)


def test_each_source_has_a_line_of_its_own() -> None:
    lines = bill([charge(0, 4)], PriceBook([POOL], quotes=[quote(3, 3.0)]))
    assert {line.source: line.amount.usd for line in lines} == {
        Source.TYPICAL: 3 * 2.0,
        Source.HISTORY: 3.0,
    }


def test_lines_add_up_by_whatever_is_asked_for() -> None:
    charges = [charge(0, 4), charge(0, 2, zone="b", use=Use.IDLE), charge(4, 5, job=None)]
    lines = bill(charges, PriceBook([POOL]))
    usd = {zone: amount.usd for zone, amount in grouped(lines, lambda x: x.place.zone).items()}
    assert usd == {"a": 10, "b": 4}
    assert {job: amount.usd for job, amount in grouped(lines, lambda x: x.job).items()} == {
        "j": 12,
        None: 2,
    }


@given(
    st.lists(
        st.builds(
            lambda start, hours, **kept: charge(start, start + hours, **kept),
            st.floats(0, 9),
            st.floats(0.01, 9),
            job=st.sampled_from(("j", "k", None)),
            zone=st.sampled_from("ab"),
            use=st.sampled_from(Use),
            share=st.fractions(Fraction(1, 100), 1),
        ),
        max_size=6,
    ),
    st.lists(st.builds(quote, st.floats(-5, 15), st.floats(0.1, 9)), max_size=6),
)
def test_no_hour_is_lost_between_charges_and_lines(
    charges: list[Charge], quotes: list[Quote]
) -> None:
    lines = bill(charges, PriceBook([POOL], quotes=quotes))
    assert total(lines).node_hours == pytest.approx(sum(each.node_hours for each in charges))
    by_place = grouped(lines, lambda line: (line.place, line.source))
    assert sum(by_place.values(), Amount()).usd == pytest.approx(total(lines).usd)


# --- Saved --------------------------------------------------------------------------------------


def test_the_worked_example_comes_out() -> None:
    result = saving_at(node_hours=40, **PRICES, goodput=0.95)
    assert result.usd == pytest.approx(6.32)
    assert result.on_demand_usd == pytest.approx(19.988)
    assert result.fraction == pytest.approx(0.6838, abs=1e-4)


def test_a_perfect_job_saves_the_discount() -> None:
    result = saving_at(node_hours=10, usd_per_hour=0.3, on_demand_usd_per_hour=1.0, goodput=1.0)
    assert result.fraction == pytest.approx(0.7)


@given(st.floats(0.01, 1))
def test_the_saving_is_one_minus_price_ratio_over_goodput(goodput: float) -> None:
    result = saving_at(node_hours=7, **PRICES, goodput=goodput)
    assert result.fraction == pytest.approx(1 - 0.158 / 0.526 / goodput)


def test_wasted_spot_hours_can_cost_more_than_on_demand() -> None:
    result = saving_at(node_hours=1, usd_per_hour=0.3, on_demand_usd_per_hour=1.0, goodput=0.2)
    assert result.fraction == pytest.approx(-0.5)


def test_without_useful_work_no_saving_is_claimed() -> None:
    result = saving_at(node_hours=10, **PRICES, goodput=0.0)
    assert result.usd == pytest.approx(1.58)
    assert result.fraction is None


def test_no_node_costs_nothing() -> None:
    assert saving_at(node_hours=0, **PRICES, goodput=1.0) == Saving(0, 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"goodput": -0.1}, "goodput is -0.1, but must be a share", id="goodput"),
        pytest.param({"goodput": float("nan")}, "goodput is nan", id="goodput unknown"),
        pytest.param({"usd_per_hour": -1}, "spot price is -1, but", id="price"),
        pytest.param({"on_demand_usd_per_hour": -1}, "on-demand price is -1", id="list price"),
        pytest.param({"node_hours": -1}, "node hours are -1, but", id="hours"),
    ],
)
def test_impossible_numbers_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        saving_at(**{"node_hours": 1, **PRICES, "goodput": 1.0, **change})
