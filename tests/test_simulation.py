"""Time, goodput and dollars of a job on a trace, under one runtime or another."""

import math
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.replay import Behaviour, replay
from spotrain.ledger.runtimes import RESTART, RUNTIMES, SPOTRAIN, TORCHRUN, adapted
from spotrain.ledger.simulation import Prices, Runtime, best_interval, simulate
from spotrain.ledger.trace_formats import read_trace
from spotrain.ledger.traces import Trace
from tests.test_replay import behaviours, traces

TRACES = Path(__file__).parents[1] / "bench/traces"
PRICES = Prices(on_demand_usd=2.0, discount=0.7)
P3 = read_trace((TRACES / "bamboo-p3.csv").read_text())
HOUR_OF_FOUR = Trace(((0.0, 4),), 3600.0)


def runtime(behaviour: Behaviour) -> Runtime:
    return Runtime(name="tried", about="", behaviour=behaviour)


PERFECT = runtime(Behaviour(pause_seconds=0, has_notice=True))


def test_an_oracle_saves_the_discount() -> None:
    found = simulate(P3, PERFECT, PRICES)
    assert (found.goodput, found.saving.fraction) == pytest.approx((1, 0.7))
    assert found.saving.usd == pytest.approx(P3.node_seconds / 3600 * 0.6)


def test_a_job_takes_as_long_as_its_work_needs() -> None:
    found = simulate(HOUR_OF_FOUR, PERFECT, PRICES, work_hours=0.5)
    assert (found.hours, found.node_hours) == pytest.approx((0.5, 2))
    assert found.saving.on_demand_usd == pytest.approx(2 * 2.0)


def test_a_trace_that_is_too_short_is_played_again() -> None:
    half = Trace(((0.0, 4), (1800.0, 0)), 3600.0)
    assert simulate(half, PERFECT, PRICES, work_hours=1.25).hours == pytest.approx(2.25)


def test_a_job_that_never_gets_anywhere_is_never_done() -> None:
    restless = Trace(tuple((10.0 * n, 4 - n % 2) for n in range(100)), 1000.0)
    slow = runtime(Behaviour(pause_seconds=60, has_notice=False))
    found = simulate(restless, slow, PRICES, work_hours=0.1)
    assert (found.hours, found.goodput, found.saving.fraction) == (None, 0, None)


def test_the_best_interval_is_near_what_theory_says() -> None:
    """Young: sqrt(2 C M), here for a save of 5 s and a loss every 8 minutes."""
    chance = Random(1)
    losses = list(accumulate(chance.expovariate(1 / 480) for _ in range(300)))
    restless = Trace(((0.0, 4), *((at, 4 - n % 2) for n, at in enumerate(losses, 1))), 150_000.0)
    lossy = Behaviour(pause_seconds=0, has_notice=False, growth_loses=True, save_seconds=5)
    interval, goodput = best_interval(restless, lossy)
    assert interval is not None
    assert math.sqrt(2 * 5 * 480) / 2 < interval < math.sqrt(2 * 5 * 480) * 2
    assert goodput > 0.8


@given(traces(), behaviours)
def test_no_interval_that_was_tried_is_better_than_the_best(
    trace: Trace, behaviour: Behaviour
) -> None:
    interval, goodput = best_interval(trace, behaviour)
    chosen = replace(behaviour, interval_seconds=interval or math.inf)
    assert replay(trace, chosen).goodput == pytest.approx(goodput)
    for other in (math.inf, max(5.0, behaviour.save_seconds)):
        if other == math.inf or other < trace.seconds:
            tried = replay(trace, replace(behaviour, interval_seconds=other))
            assert tried.goodput <= goodput + 1e-9


def test_on_the_published_trace_the_runtimes_come_in_their_order() -> None:
    found = [simulate(P3, each, PRICES).goodput for each in RUNTIMES]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.95


def test_figures_can_be_given_the_pause_for_this_runtime_alone() -> None:
    given_all = [
        adapted(each, pause_seconds=1, save_seconds=2, interval_seconds=3, unnoticed=0.5).behaviour
        for each in (SPOTRAIN, TORCHRUN, RESTART)
    ]
    assert [each.pause_seconds for each in given_all] == [1, 52, 300]
    assert {(each.save_seconds, each.interval_seconds) for each in given_all} == {(2, 3)}
    assert [each.unnoticed for each in given_all] == [0.5, 0, 0]


@pytest.mark.parametrize(
    ("price", "discount", "words"),
    [(-1, 0.7, "price is -1"), (1, 1.5, "discount is 1.5"), (1, float("nan"), "discount is nan")],
)
def test_impossible_prices_are_refused(price: float, discount: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Prices(on_demand_usd=price, discount=discount)


@given(st.floats(0.1, 0.9), st.floats(0, 200))
def test_the_saving_is_the_discounts_over_goodput(discount: float, pause: float) -> None:
    played = runtime(Behaviour(pause_seconds=pause, has_notice=True))
    found = simulate(P3.window(0, 7200), played, Prices(on_demand_usd=3, discount=discount))
    assert found.saving.fraction == pytest.approx(1 - (1 - discount) / found.goodput)
