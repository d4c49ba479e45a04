"""What a job's entries amount to.

    totals  = what the listed entries say + what was settled of those that are listed no longer
    dollars = node seconds, each at the price that was in force when it was first counted

Nothing is added from look to look but the dollars: the sums are computed anew from the entries, so
that what is seen twice, late, or by somebody else changes them once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from spotrain.ledger.account import Account, PlaceSeconds, PlaceTotal, Record, Settled, Totals
from spotrain.ledger.entries import Place, StayEntry
from spotrain.ledger.time_split import Span, standing_time, training_time

SECONDS_PER_HOUR: Final = 3600.0

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


def close_account(record: Record, closing: Closing, rate: Rate) -> Record:
    """The record with its totals; closed twice it is the same."""
    account = record.account
    settled = account.settled or Settled(until=account.since)
    standing = standing_time(
        record.worlds,
        account.stays,
        account.pauses,
        life=Span(settled.until, closing.time),
        min_workers=closing.min_workers,
    )
    life = Span(account.since, closing.time)
    split = sum(training_time(record.worlds, account.pauses, life=life), settled.split + standing)
    places = price_places(account, closing.stays, rate)
    ended = [world.number for world in record.worlds if world.ended_at is not None]
    before = account.totals.through if account.totals else 0
    totals = Totals(
        until=closing.stays,
        through=max([before, *ended]),
        wanted_seconds=split.wanted_seconds,
        useful_seconds=split.useful_seconds,
        lost_seconds=split.lost_seconds,
        places=places,
        estimated_usd=sum(place.estimated_usd for place in places),
        list_usd=sum(place.list_usd for place in places),
    )
    return replace(record, account=replace(account, totals=totals))


def share_of(stay: StayEntry) -> float:
    """The share of its node that a pod holds, by GPUs; all of a node whose GPUs nobody counts."""
    return min(1.0, stay.gpus / stay.node_gpus) if stay.node_gpus else 1.0


def held(
    settled: Iterable[PlaceSeconds], stays: Iterable[StayEntry], until: datetime
) -> dict[Place, PlaceSeconds]:
    """What is settled, and what the stays held up to a moment."""
    places = {each.place: each for each in settled}
    for stay in stays:
        if stay.place is None or stay.scheduled_at is None:
            continue
        seconds = Span(stay.scheduled_at, stay.ended_at or until).seconds
        before = places.get(stay.place, PlaceSeconds(place=stay.place))
        places[stay.place] = PlaceSeconds(
            place=stay.place,
            node_seconds=before.node_seconds + seconds * share_of(stay),
            gpu_seconds=before.gpu_seconds + seconds * stay.gpus,
        )
    return places


def price_places(account: Account, until: datetime, rate: Rate) -> tuple[PlaceTotal, ...]:
    """What the job held of each place up to a moment. What was not counted before is paid at the
    price of that moment."""
    settled = account.settled.places if account.settled else ()
    known = {each.place: each for each in account.totals.places} if account.totals else {}
    totals = []
    for place, seconds in held(settled, account.stays, until).items():
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
