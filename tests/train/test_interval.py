"""The interval's arithmetic: Young's optimum, its bounds, and what a notice is worth."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.train.interval import (
    LONGEST_SECONDS,
    MAX_OVERHEAD,
    PRIOR_INTERRUPTION_SECONDS,
    SHORTEST_SECONDS,
    Seen,
    best_interval,
    expected_waste,
)

stalls = st.floats(1e-3, 100)
losses = st.floats(60, 1e6)


@pytest.mark.parametrize(
    ("stall", "between", "expected"),
    [
        pytest.param(1, 518, 32, id="Bamboo p3, 1 s"),
        pytest.param(1, 7162, 120, id="16 V100, 1 s"),
        pytest.param(5, 7162, 268, id="16 V100, 5 s"),
        pytest.param(5, 8504, 292, id="4 V100, 5 s"),
    ],
)
def test_the_interval_is_youngs(stall: float, between: float, expected: float) -> None:
    found = best_interval(stall_seconds=stall, write_seconds=0, seconds_between_losses=between)
    assert round(found) == expected


@given(
    youngs=st.floats(SHORTEST_SECONDS, LONGEST_SECONDS),
    overhead=st.floats(1e-5, MAX_OVERHEAD),
    other=st.floats(0.1, 10),
)
def test_no_other_interval_wastes_less_where_no_bound_holds(
    youngs: float, overhead: float, other: float
) -> None:
    stall, between = overhead * youngs, youngs / (2 * overhead)
    best = best_interval(stall_seconds=stall, write_seconds=0, seconds_between_losses=between)
    assert math.isclose(best, youngs)
    cost = {"stall_seconds": stall, "seconds_between_losses": between}
    assert expected_waste(best, **cost) <= expected_waste(best * other, **cost) * (1 + 1e-9)


@given(stall=stalls, write=st.floats(0, 1000), between=losses)
def test_saves_never_cost_more_than_their_share(stall: float, write: float, between: float) -> None:
    found = best_interval(stall_seconds=stall, write_seconds=write, seconds_between_losses=between)
    assert stall / found <= MAX_OVERHEAD * (1 + 1e-9)
    assert SHORTEST_SECONDS <= found <= max(LONGEST_SECONDS, stall / MAX_OVERHEAD)


def test_a_save_that_takes_long_to_write_leaves_the_volume_half_of_the_time() -> None:
    assert best_interval(stall_seconds=0.1, write_seconds=300, seconds_between_losses=600) == 600


@pytest.mark.parametrize("noticed", [0, 4, 8])
def test_only_interruptions_without_a_notice_count(noticed: int) -> None:
    seconds, interruptions = 3_600_000.0, 10
    m, q = seconds / interruptions, noticed / interruptions
    seen = Seen(seconds, losses=interruptions - noticed)
    prior = (seconds + PRIOR_INTERRUPTION_SECONDS) / seconds
    between = seen.seconds_between_losses * (seen.losses + 1) / seen.losses / prior
    assert math.isclose(between, m / (1 - q))


def test_a_job_that_has_seen_nothing_goes_by_the_prior() -> None:
    assert Seen().seconds_between_losses == PRIOR_INTERRUPTION_SECONDS
