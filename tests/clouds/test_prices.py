"""What is written down of what a cloud answers, and how it is read again."""

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.clouds.prices import document, merge
from spotrain.job import Pool, Price, PricesError, parse_prices
from spotrain.ledger.prices import Quote

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ZONES = ("us-east-1a", "us-east-1b")
TYPES = ("g4dn.xlarge", "g4dn.2xlarge", "g5.xlarge")


def pool(name: str = "t4-spot", capacity: str = contract.CAPACITY_SPOT, **changed: object) -> Pool:
    fields = {
        "name": name,
        "gpu": "t4",
        "gpus_per_node": 1,
        "capacity": capacity,
        "zones": ("us-east-1a",),
        "instance_types": ("g4dn.xlarge",),
        "max_nodes": 4,
        "notice_seconds": 90,
        "on_demand_usd_per_hour": 0.526,
    }
    return Pool.model_validate({**fields, **changed})


def quote(usd: float, *, hours_ago: float = 0, **changed: str) -> Quote:
    place = {"instance_type": "g4dn.xlarge", "zone": "us-east-1a", **changed}
    return Quote(usd_per_hour=usd, since=NOON - timedelta(hours=hours_ago), **place)


def price(usd: float, *, hours_ago: float = 0, **changed: str) -> Price:
    place = {"pool": "t4-spot", "instance_type": "g4dn.xlarge", "zone": "us-east-1a", **changed}
    return Price(spot_usd_per_hour=usd, at=NOON - timedelta(hours=hours_ago), **place)


quotes = st.lists(
    st.builds(
        Quote,
        instance_type=st.sampled_from(TYPES),
        zone=st.sampled_from(ZONES),
        usd_per_hour=st.floats(0.01, 100),
        since=st.datetimes(datetime(2026, 8, 1), datetime(2026, 11, 21), timezones=st.just(UTC)),
    ),
    max_size=12,
)
prices = st.lists(
    st.builds(
        lambda usd, hours, **place: price(usd, hours_ago=hours, **place),
        usd=st.floats(0.01, 100),
        hours=st.integers(0, 2000),
        pool=st.sampled_from(("t4-spot", "t4-paid", "gone")),
        instance_type=st.sampled_from(TYPES),
        zone=st.sampled_from(ZONES),
    ),
    max_size=12,
)
POOLS = (
    pool(zones=ZONES, instance_types=TYPES),
    pool("t4-paid", contract.CAPACITY_ON_DEMAND, zones=ZONES, instance_types=TYPES),
)


# --- Choosing and merging -----------------------------------------------------------------------


def test_a_price_is_what_the_cloud_says_now() -> None:
    assert merge([pool()], [quote(0.2, hours_ago=50)], [], now=NOON) == (price(0.2),)


def test_the_newest_change_of_a_price_holds() -> None:
    answer = [quote(0.2, hours_ago=1), quote(0.3, hours_ago=9)]
    assert merge([pool()], answer, [], now=NOON) == (price(0.2),)


def test_of_two_prices_of_one_moment_the_higher_is_believed() -> None:
    assert merge([pool()], [quote(0.3), quote(0.2)], [], now=NOON) == (price(0.3),)


def test_an_older_price_stays_where_there_is_no_news() -> None:
    earlier = [price(0.25, hours_ago=5)]
    assert merge([pool()], [], earlier, now=NOON) == tuple(earlier)


def test_news_replaces_an_older_price() -> None:
    assert merge([pool()], [quote(0.2)], [price(0.9, hours_ago=5)], now=NOON) == (price(0.2),)


def test_on_demand_pools_have_no_price_that_moves() -> None:
    assert merge([pool(capacity=contract.CAPACITY_ON_DEMAND)], [quote(0.2)], [], now=NOON) == ()


def test_the_price_of_a_pool_that_is_gone_goes_with_it() -> None:
    assert merge([pool()], [], [price(0.2, pool="old-spot")], now=NOON) == ()


def test_two_pools_of_the_same_type_each_have_its_price() -> None:
    found = merge([pool("a"), pool("b")], [quote(0.2)], [], now=NOON)
    assert found == (price(0.2, pool="a"), price(0.2, pool="b"))


@given(quotes, prices)
def test_each_place_has_at_most_one_price_and_only_spot_pools_have_any(
    answer: list[Quote], earlier: list[Price]
) -> None:
    found = merge(POOLS, answer, earlier, now=NOON)
    places = [(p.pool, p.zone, p.instance_type) for p in found]
    assert len(places) == len(set(places))
    assert {p.pool for p in found} <= {"t4-spot"}


@given(quotes, prices, st.randoms())
def test_the_order_of_an_answer_is_of_no_matter(
    answer: list[Quote], earlier: list[Price], order: Random
) -> None:
    shuffled = list(answer)
    order.shuffle(shuffled)
    now = NOON + timedelta(hours=1)
    assert merge(POOLS, shuffled, earlier, now=now) == merge(POOLS, answer, earlier, now=now)


@given(quotes, prices)
def test_nothing_known_of_a_spot_pool_is_ever_lost(
    answer: list[Quote], earlier: list[Price]
) -> None:
    places = {(p.zone, p.instance_type) for p in merge(POOLS, answer, earlier, now=NOON)}
    asked = {(q.zone, q.instance_type) for q in answer}
    assert places == asked | {(p.zone, p.instance_type) for p in earlier if p.pool == "t4-spot"}


@given(quotes, prices)
def test_the_same_answer_twice_changes_nothing(answer: list[Quote], earlier: list[Price]) -> None:
    once = merge(POOLS, answer, earlier, now=NOON)
    assert merge(POOLS, answer, once, now=NOON) == once


# --- The document -------------------------------------------------------------------------------


@given(prices)
def test_what_is_written_is_read_as_it_was(written: list[Price]) -> None:
    assert parse_prices(document(written)) == tuple(written)


def test_the_document_is_the_one_that_the_contract_describes() -> None:
    (entry,) = yaml.safe_load(document([price(0.1578)]))
    assert entry == {
        "pool": "t4-spot",
        "zone": "us-east-1a",
        "instanceType": "g4dn.xlarge",
        "spotUsdPerHour": 0.1578,
        "at": "2026-11-21T12:00:00Z",
    }


def test_times_are_written_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    there = price(0.1).model_copy(update={"at": NOON.astimezone(tokyo)})
    assert "2026-11-21T12:00:00Z" in document([there])


def test_an_empty_object_holds_no_prices() -> None:
    assert parse_prices("") == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(("0.1578", "0"), "must be above 0", id="a-price-of-nothing"),
        pytest.param(("0.1578", "cheap"), "not a number", id="a-price-in-words"),
        pytest.param(("12:00:00Z", "12:00:00"), "at:", id="a-time-of-no-zone"),
        pytest.param(("zone:", "region:"), "unknown field 'region'", id="an-unknown-field"),
        pytest.param(("- pool: t4-spot", "- "), "is missing", id="no-pool"),
    ],
)
def test_a_document_that_cannot_be_used_is_refused_with_its_fault(
    change: tuple[str, str], fault: str
) -> None:
    with pytest.raises(PricesError, match=fault):
        parse_prices(document([price(0.1578)]).replace(*change))


def test_text_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(PricesError, match="is no YAML"):
        parse_prices("[")
