"""Which places there are for a job, in which order."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.offers import list_offers
from spotrain.job import PRICE_HOURS, Price
from tests.controller.builders import NOW, job, pool

SPOT = pool("t4-spot")
DEMAND = pool("t4-demand", capacity="on-demand", spot_usd_per_hour=None)
T4: dict[str, Any] = {"placement": {"gpu": "t4"}}


def price(zone: str, usd: float, pool_name: str = "t4-spot", **changes: Any) -> Price:
    values = {"pool": pool_name, "zone": zone, "instance_type": "g4dn.xlarge", "at": NOW}
    return Price(**{**values, "spot_usd_per_hour": usd, **changes})


def places(*prices: Price, **placement: Any) -> list[str]:
    this = job(placement={"gpu": "t4", **placement})
    return [offer.place for offer in list_offers(this, (DEMAND, SPOT), prices, NOW)]


def test_the_cheapest_zone_of_today_comes_first() -> None:
    assert places(price("b", 0.11)) == ["t4-spot/b", "t4-spot/a", "t4-demand/a", "t4-demand/b"]
    assert places(price("b", 0.3)) == ["t4-spot/a", "t4-spot/b", "t4-demand/a", "t4-demand/b"]


def test_however_dear_spot_is_on_demand_comes_after_it() -> None:
    """Who asks for spotThenOnDemand says so; `capacity: onDemand` says the other."""
    assert places(price("a", 9.0), price("b", 8.0))[:2] == ["t4-spot/b", "t4-spot/a"]


def test_of_several_types_the_cheapest_counts() -> None:
    dear, cheap = price("b", 0.9), price("b", 0.1, instance_type="g4dn.2xlarge")
    assert places(dear, cheap)[0] == places(cheap, dear)[0] == "t4-spot/b"


def test_a_price_of_long_ago_counts_no_more() -> None:
    old = price("b", 0.01, at=NOW - timedelta(hours=PRICE_HOURS, seconds=1))
    assert places(old)[0] == "t4-spot/a"


def test_the_price_of_an_offer_is_todays_where_one_is_known() -> None:
    prices = (price("a", 0.11),)
    offers = {o.place: o.usd_per_hour for o in list_offers(job(**T4), (SPOT, DEMAND), prices, NOW)}
    assert offers == {
        "t4-spot/a": 0.11,
        "t4-spot/b": 0.18,
        "t4-demand/a": 0.53,
        "t4-demand/b": 0.53,
    }


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        pytest.param((price("a", 0.1), price("b", 0.2)), 0.2, id="the-dearest-zone-counts"),
        pytest.param((price("a", 0.1),), 0.18, id="a-zone-without-a-price-leaves-the-pools-own"),
    ],
)
def test_a_job_that_may_use_any_zone_reckons_with_the_dearest(
    prices: tuple[Price, ...], expected: float
) -> None:
    this = job(placement={"gpu": "t4", "zone": "any", "capacity": "spot"})
    (offer,) = list_offers(this, (SPOT,), prices, NOW)
    assert (offer.place, offer.usd_per_hour) == ("t4-spot/", expected)


@given(
    st.lists(
        st.builds(
            price,
            st.sampled_from("abz"),
            st.floats(0.01, 5),
            st.sampled_from(["t4-spot", "t4-demand", "gone"]),
        ),
        max_size=9,
    )
)
def test_prices_change_the_order_and_never_which_places_there_are(prices: list[Price]) -> None:
    offers = list_offers(job(**T4), (DEMAND, SPOT), prices, NOW)
    assert {o.place for o in offers} == {"t4-spot/a", "t4-spot/b", "t4-demand/a", "t4-demand/b"}
    ranks = [(o.pool.capacity != "spot", o.usd_per_gpu_hour) for o in offers]
    assert ranks == sorted(ranks)
