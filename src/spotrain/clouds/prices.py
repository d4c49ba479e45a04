"""From what a cloud answers to what is written down; pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import yaml

from spotrain import contract
from spotrain.job import Pool, Price
from spotrain.ledger.prices import Quote


class RefreshError(Exception):
    """Prices were not refreshed; the older ones stay. One line: what, why, and what to do."""


def spot_pools(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Only these have prices that move."""
    return tuple(pool for pool in pools if pool.capacity == contract.CAPACITY_SPOT)


def merge(
    pools: Iterable[Pool], quotes: Iterable[Quote], earlier: Iterable[Price], *, now: datetime
) -> tuple[Price, ...]:
    """The price of each type of each spot pool in each of its zones, as of `now` where it is known.

    An earlier price stays, with its time, where there is no news; it goes with its pool.
    """
    newest = {
        (quote.instance_type, quote.zone): quote
        for quote in sorted(quotes, key=lambda quote: (quote.since, quote.usd_per_hour))
    }
    known = {
        (price.pool, price.zone, price.instance_type): price
        for price in sorted(earlier, key=lambda price: price.at)
    }
    merged: list[Price] = []
    for pool in spot_pools(pools):
        for zone in pool.zones:
            for instance_type in pool.instance_types:
                quote = newest.get((instance_type, zone))
                if quote:
                    merged.append(_priced(pool, quote, now))
                elif (pool.name, zone, instance_type) in known:
                    merged.append(known[pool.name, zone, instance_type])
    return tuple(merged)


def _priced(pool: Pool, quote: Quote, now: datetime) -> Price:
    return Price(
        pool=pool.name,
        zone=quote.zone,
        instance_type=quote.instance_type,
        spot_usd_per_hour=quote.usd_per_hour,
        at=now,
    )


def document(prices: Sequence[Price]) -> str:
    """As `contract.PRICES_KEY` holds them, times in UTC and whole seconds."""
    return yaml.safe_dump([_mapping(price) for price in prices], sort_keys=False)


def _mapping(price: Price) -> dict[str, object]:
    return {
        "pool": price.pool,
        "zone": price.zone,
        "instanceType": price.instance_type,
        "spotUsdPerHour": price.spot_usd_per_hour,
        "at": f"{price.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
