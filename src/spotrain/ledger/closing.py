"""What a job's entries amount to.

    totals  = what the listed entries say + what was settled of those that are listed no longer
    dollars = node seconds, each at the price that was in force when it was first counted,
              and bytes at the price of moving them

Nothing is added from look to look but the dollars of nodes: the sums are computed anew from the
entries, so that what is seen twice, late, or by somebody else changes them once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from spotrain.job import StoragePrices
from spotrain.ledger.account import Account, PlaceSeconds, PlaceTotal, Record, Settled, Totals
from spotrain.ledger.entries import Place, StayEntry
from spotrain.ledger.sharing import node_seconds, shares
from spotrain.ledger.time_split import Span, Split, standing_time, training_time
from spotrain.ledger.traffic import NO_TRAFFIC, Traffic, traffic_of

SECONDS_PER_HOUR: Final = 3600.0
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

Rate = Callable[[Place], tuple[float, float]]
"""Dollars of one node for one hour: at the price in force, and on demand by the list."""


@dataclass(frozen=True, kw_only=True)
class Closing:
    """Up to when the entries count."""

    time: datetime
    """Now, or the job's end."""
    stays: datetime
    """Now: pods outlive the job, and hold their nodes."""
    min_workers: int
    storage: StoragePrices | None = None
    """None: nobody has named them."""


def close_account(record: Record, closing: Closing, rate: Rate) -> Record:
    """The record with its totals; closed twice it is the same."""
    account = record.account
    split = split_record(record, closing.time, min_workers=closing.min_workers)
    places = price_places(account, closing.stays, rate)
    traffic = account_traffic(account)
    traffic_usd = traffic.usd(closing.storage)
    ended = [world.number for world in record.worlds if world.ended_at is not None]
    before = account.totals.through if account.totals else 0
    totals = Totals(
        until=closing.stays,
        through=max([before, *ended]),
        wanted_seconds=split.wanted_seconds,
        useful_seconds=split.useful_seconds,
        lost_seconds=split.lost_seconds,
        places=places,
        traffic=traffic,
        traffic_usd=traffic_usd,
        estimated_usd=sum(place.estimated_usd for place in places) + (traffic_usd or 0.0),
        list_usd=sum(place.list_usd for place in places),
    )
    return replace(record, account=replace(account, totals=totals))


def split_record(record: Record, until: datetime, *, min_workers: int) -> Split:
    """What became of the job's time up to a moment, by all entries that there were."""
    account = record.account
    settled = account.settled or Settled(until=account.since)
    standing = standing_time(
        record.worlds,
        account.stays,
        account.pauses,
        account.back_offs,
        life=Span(settled.until, until),
        min_workers=min_workers,
    )
    life = Span(account.since, until)
    return sum(training_time(record.worlds, account.pauses, life=life), settled.split + standing)


def account_traffic(account: Account) -> Traffic:
    """Of all pods that there were."""
    settled = account.settled.traffic if account.settled else NO_TRAFFIC
    return settled + traffic_of(account.stays)


def held(
    settled: Settled | None, stays: Sequence[StayEntry], until: datetime
) -> dict[Place, PlaceSeconds]:
    """What is settled, and what the stays held from then up to a moment."""
    since = settled.places_until if settled else None
    places = {each.place: each for each in settled.places} if settled else {}
    seconds = node_seconds(stays, since=since or LONG_AGO, until=until)
    for stay in stays:
        if stay.place is None or stay.scheduled_at is None:
            continue
        begin = max(stay.scheduled_at, since or LONG_AGO)
        own = Span(begin, min(stay.ended_at or until, until)).seconds
        before = places.get(stay.place, PlaceSeconds(place=stay.place))
        places[stay.place] = PlaceSeconds(
            place=stay.place,
            node_seconds=before.node_seconds + seconds.get(stay.uid, 0.0),
            gpu_seconds=before.gpu_seconds + own * stay.gpus,
        )
    return places


def usd_per_hour(stays: Iterable[StayEntry], price: Callable[[Place], float]) -> float:
    """What the job's part of its nodes costs now. `price`: of a node there, for an hour."""
    by_node: dict[str, list[StayEntry]] = defaultdict(list)
    for stay in stays:
        if stay.scheduled_at is not None and stay.ended_at is None and stay.place is not None:
            by_node[stay.node].append(stay)
    return sum(
        float(share) * price(stay.place)
        for own in by_node.values()
        for stay, share in zip(own, shares(own), strict=True)
        if stay.place is not None
    )


def price_places(account: Account, until: datetime, rate: Rate) -> tuple[PlaceTotal, ...]:
    """What the job held of each place up to a moment. What was not counted before is paid at the
    price of that moment."""
    known = {each.place: each for each in account.totals.places} if account.totals else {}
    totals = []
    for place, seconds in held(account.settled, account.stays, until).items():
        before = known.get(place, PlaceTotal(place=place))
        hours = (seconds.node_seconds - before.node_seconds) / SECONDS_PER_HOUR
        usd, list_usd = rate(place)
        totals.append(
            PlaceTotal(
                place=place,
                node_seconds=seconds.node_seconds,
                gpu_seconds=seconds.gpu_seconds,
                estimated_usd=before.estimated_usd + hours * usd,
                list_usd=before.list_usd + hours * list_usd,
            )
        )
    return tuple(totals)
