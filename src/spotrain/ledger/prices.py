"""What a node cost at any moment, and who says so: a step function of quotes, with fall-backs."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spotrain import contract
from spotrain.job import Pool, Price
from spotrain.ledger.entries import Place


class Source(StrEnum):
    """Who told a price. The further down, the less it says of the moment that it is used for."""

    HISTORY = "spot history"
    """The cloud's own record: the price in force in that zone, for that type, at that time."""
    LATEST = "latest spot"
    """The prices ConfigMap: the newest spot price, taken for all times that no record covers."""
    TYPICAL = "typical spot"
    """The pools ConfigMap: what the type costs on spot usually, as the stack was built."""
    LIST = "list price"
    """The pools ConfigMap: what on-demand nodes cost; for spot nodes where nobody knows better."""
    NONE = "no price"
    """Nobody has named one: it counts as 0, and whoever shows it has to say so."""


@dataclass(frozen=True, kw_only=True)
class Quote:
    """A spot price as a cloud tells it."""

    instance_type: str
    zone: str
    usd_per_hour: float
    since: datetime
    """When it became this price: of two for the same thing, the newer one holds."""


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A stretch of time in which a node had one price."""

    start: datetime
    end: datetime
    usd_per_hour: float
    source: Source


class PriceBook:
    """All that is known of prices.

    Args:
        quotes: the cloud's record, each from the moment it holds; in any order.
        latest: what the refresher wrote to the prices ConfigMap.
    """

    def __init__(
        self, pools: Iterable[Pool], *, quotes: Iterable[Quote] = (), latest: Iterable[Price] = ()
    ) -> None:
        self._pools = {pool.name: pool for pool in pools}
        self._quotes = _steps(quotes)
        self._latest = {
            (price.pool, price.zone, price.instance_type): price.spot_usd_per_hour
            for price in sorted(latest, key=lambda price: price.at)
        }

    def list_usd_per_hour(self, place: Place) -> float:
        """What a node there costs on demand; 0 where nobody has named a price."""
        pool = self._pools.get(place.pool)
        return pool.on_demand_usd_per_hour if pool else 0.0

    def type_of(self, place: Place) -> str:
        """Of a pool with one instance type it is known even where it was not seen."""
        pool = self._pools.get(place.pool)
        if not place.instance_type and pool and len(pool.instance_types) == 1:
            return pool.instance_types[0]
        return place.instance_type

    def over(self, place: Place, start: datetime, end: datetime) -> Iterator[Priced]:
        """The prices of a node there from `start` to `end`, without a gap."""
        if place.capacity != contract.CAPACITY_SPOT:
            yield self._unrecorded(place, start, end)
            return
        since, usd = self._quotes.get((self.type_of(place), place.zone), ((), ()))
        first = bisect_right(since, start) - 1
        if first < 0 and start < end:
            until = min(end, since[0]) if since else end
            yield self._unrecorded(place, start, until)
            start = until
        for index in range(max(first, 0), len(since)):
            until = min(end, since[index + 1]) if index + 1 < len(since) else end
            if start < until:
                yield Priced(start=start, end=until, usd_per_hour=usd[index], source=Source.HISTORY)
                start = until

    def _unrecorded(self, place: Place, start: datetime, end: datetime) -> Priced:
        usd, source = self._otherwise(place)
        return Priced(start=start, end=end, usd_per_hour=usd, source=source)

    def _otherwise(self, place: Place) -> tuple[float, Source]:
        """Where no record covers the time."""
        pool = self._pools.get(place.pool)
        if place.capacity == contract.CAPACITY_SPOT:
            if usd := self._latest.get((place.pool, place.zone, self.type_of(place))):
                return usd, Source.LATEST
            if pool and pool.spot_usd_per_hour:
                return pool.spot_usd_per_hour, Source.TYPICAL
        if usd := self.list_usd_per_hour(place):
            return usd, Source.LIST
        return 0.0, Source.NONE


_Steps = Mapping[tuple[str, str], tuple[Sequence[datetime], Sequence[float]]]


def _steps(quotes: Iterable[Quote]) -> _Steps:
    """(type, zone) -> moments in order, and the price from each on; of two, the higher one."""
    by_moment: dict[tuple[str, str], dict[datetime, float]] = defaultdict(dict)
    for quote in quotes:
        prices = by_moment[quote.instance_type, quote.zone]
        prices[quote.since] = max(quote.usd_per_hour, prices.get(quote.since, 0.0))
    return {
        place: (moments := sorted(prices), [prices[moment] for moment in moments])
        for place, prices in by_moment.items()
    }
