"""What a node cost at a moment: the cloud's record, and what is believed where it says nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.job import Pool, Price
from spotrain.ledger.entries import Place
from spotrain.ledger.prices import PriceBook, Quote, Source

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SPOT = Place(
    pool="t4-spot", zone="us-east-1a", capacity=contract.CAPACITY_SPOT, instance_type="g4dn.xlarge"
)
PAID = Place(
    pool="t4-paid",
    zone="us-east-1a",
    capacity=contract.CAPACITY_ON_DEMAND,
    instance_type="g4dn.xlarge",
)


def pool(name: str = "t4-spot", *, typical: float | None = 0.2, listed: float = 0.526) -> Pool:
    return Pool(
        name=name,
        gpu="t4",
        gpus_per_node=1,
        capacity="spot" if name == "t4-spot" else "on-demand",
        zones=("us-east-1a",),
        instance_types=("g4dn.xlarge",),
        max_nodes=4,
        notice_seconds=90,
        spot_usd_per_hour=typical,
        on_demand_usd_per_hour=listed,
    )


def quote(usd: float, *, hours: float, zone: str = "us-east-1a") -> Quote:
    since = NOON + hours * HOUR
    return Quote(instance_type="g4dn.xlarge", zone=zone, usd_per_hour=usd, since=since)


def latest(usd: float) -> Price:
    return Price(
        pool="t4-spot",
        zone="us-east-1a",
        instance_type="g4dn.xlarge",
        spot_usd_per_hour=usd,
        at=NOON,
    )


def told(book: PriceBook, place: Place = SPOT, hours: float = 4) -> list[tuple[float, float, str]]:
    """(hours, dollars an hour, source) of each piece from noon on."""
    return [
        ((piece.end - piece.start) / HOUR, piece.usd_per_hour, piece.source)
        for piece in book.over(place, NOON, NOON + hours * HOUR)
    ]


def test_a_price_holds_from_its_quote_to_the_next() -> None:
    quotes = [quote(0.30, hours=3), quote(0.15, hours=-7), quote(0.18, hours=1)]
    assert told(PriceBook([pool()], quotes=quotes)) == [
        (1, 0.15, Source.HISTORY),
        (2, 0.18, Source.HISTORY),
        (1, 0.30, Source.HISTORY),
    ]


def test_before_the_first_quote_the_latest_price_is_believed() -> None:
    book = PriceBook([pool()], quotes=[quote(0.15, hours=1)], latest=[latest(0.17)])
    assert told(book) == [(1, 0.17, Source.LATEST), (3, 0.15, Source.HISTORY)]


def test_a_quote_of_another_zone_says_nothing() -> None:
    book = PriceBook([pool()], quotes=[quote(0.1, hours=-1, zone="us-east-1b")])
    assert told(book) == [(4, 0.2, Source.TYPICAL)]


def test_quotes_after_the_time_say_nothing() -> None:
    book = PriceBook([pool()], quotes=[quote(0.1, hours=9)])
    assert told(book) == [(4, 0.2, Source.TYPICAL)]


@pytest.mark.parametrize(
    ("book", "expected"),
    [
        pytest.param(PriceBook([pool()], latest=[latest(0.17)]), (0.17, "latest spot")),
        pytest.param(PriceBook([pool()]), (0.2, "typical spot")),
        pytest.param(PriceBook([pool(typical=None)]), (0.526, "list price")),
        pytest.param(PriceBook([pool(typical=None, listed=0)]), (0.0, "no price")),
        pytest.param(PriceBook([]), (0.0, "no price"), id="the pool is gone"),
    ],
)
def test_without_a_record_the_next_best_is_taken_and_named(
    book: PriceBook, expected: tuple[float, str]
) -> None:
    assert told(book) == [(4, *expected)]


def test_on_demand_nodes_cost_the_list_price_whatever_spot_does() -> None:
    book = PriceBook([pool("t4-paid")], quotes=[quote(0.15, hours=-7)])
    assert told(book, PAID) == [(4, 0.526, Source.LIST)]


def test_a_type_that_was_not_seen_is_known_where_the_pool_has_one() -> None:
    unseen = Place(pool="t4-spot", zone="us-east-1a", capacity=contract.CAPACITY_SPOT)
    assert told(PriceBook([pool()], quotes=[quote(0.15, hours=-7)]), unseen)[0][1] == 0.15


def test_of_two_prices_of_one_moment_the_higher_is_believed() -> None:
    quotes = [quote(0.3, hours=-1), quote(0.2, hours=-1)]
    assert told(PriceBook([pool()], quotes=quotes)) == [(4, 0.3, Source.HISTORY)]


@given(
    st.lists(st.builds(quote, st.floats(0.01, 10), hours=st.floats(-5, 5)), max_size=8),
    st.floats(0.01, 5),
)
def test_no_moment_is_without_a_price_and_none_has_two(
    quotes: Sequence[Quote], hours: float
) -> None:
    end = NOON + hours * HOUR
    pieces = list(PriceBook([pool()], quotes=quotes).over(SPOT, NOON, end))
    assert [piece.start for piece in pieces] == [NOON, *(piece.end for piece in pieces)][:-1]
    assert pieces[-1].end == end
