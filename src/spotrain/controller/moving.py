"""When a place has failed a job: it waited there long enough, or was told that nothing comes.

The clock of `moveAfterSeconds` runs while fewer workers than minReplicas have a node and nothing
is on its way: no node boots, no image is pulled. It stands in the status as what had passed and
since when it runs, so it needs no write while it runs and no memory of a process.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.presence import Presence
from spotrain.controller.status import OfferStatus, PastOffer
from spotrain.counts import count
from spotrain.job import ElasticJob

NO_NODES: Final = "NoNodes"
SCALE_UP_FAILED: Final = "ScaleUpFailed"
PLACE_TAKEN: Final = "PlaceTaken"
OFFER_GONE: Final = "OfferGone"
REST_SECONDS: Final = 600
"""A place that failed is not tried again before: the autoscaler itself backs off from a group that
failed for up to ten minutes."""
HISTORY: Final = 20


@dataclass(frozen=True)
class Setback:
    """Why a place is given up."""

    reason: str
    message: str


def advance(job: ElasticJob, offer: OfferStatus, presence: Presence, now: datetime) -> OfferStatus:
    """The clock as it stands now; written only when it starts, stops, or is set back."""
    if presence.housed >= job.min_replicas:
        return replace(offer, waiting_since=None, waited_seconds=0)
    runs = presence.homeless > 0 and presence.arriving_until is None
    if runs == (offer.waiting_since is not None):
        return offer
    if runs:
        return replace(offer, waiting_since=now)
    return replace(offer, waiting_since=None, waited_seconds=waited(offer, now))


def waited(offer: OfferStatus, now: datetime) -> float:
    """Seconds on the clock."""
    running = (now - offer.waiting_since).total_seconds() if offer.waiting_since else 0.0
    return offer.waited_seconds + max(running, 0.0)


def patience_ends(job: ElasticJob, offer: OfferStatus) -> datetime | None:
    """When the job moves if nothing changes; None: the clock stands still."""
    if offer.waiting_since is None:
        return None
    left = job.placement.move_after_seconds - offer.waited_seconds
    return offer.waiting_since + timedelta(seconds=max(left, 0.0))


def find_setback(
    job: ElasticJob, offer: OfferStatus, presence: Presence, now: datetime
) -> Setback | None:
    """Why the place is to be left, once it is. `offer`: as advanced to `now`.

    What is on its way counts before what the autoscaler says: nodes for minReplicas that boot are
    enough, though those beyond them cannot be had.
    """
    if presence.housed + presence.booting >= job.min_replicas:
        return None
    if presence.failed:
        return Setback(SCALE_UP_FAILED, f"the autoscaler: {presence.failed.message}")
    end = patience_ends(job, offer)
    if end is None or now < end:
        return None
    message = (
        f"{presence.housed} of {count(job.min_replicas, 'worker')} got a node in "
        f"{job.placement.move_after_seconds} s (placement.moveAfterSeconds)."
    )
    if presence.full:
        message += f" The autoscaler: {presence.full.message}"
    return Setback(NO_NODES, message)


def leave(offer: OfferStatus, setback: Setback, now: datetime) -> PastOffer:
    """The page of the history that says why. A place that is gone needs no rest."""
    rests = setback.reason != OFFER_GONE
    return PastOffer(
        pool=offer.pool,
        zone=offer.zone,
        since=offer.since,
        until=now,
        reason=setback.reason,
        message=setback.message,
        retry_at=now + timedelta(seconds=REST_SECONDS) if rests else None,
    )


def enter(history: tuple[PastOffer, ...], page: PastOffer, now: datetime) -> tuple[PastOffer, ...]:
    """The history with one more page, the last first: the newest few, and all that still rest."""
    older = [old for old in history[HISTORY - 1 :] if old.retry_at and now < old.retry_at]
    return (page, *history[: HISTORY - 1], *older)


def resting(history: tuple[PastOffer, ...], now: datetime) -> dict[str, datetime]:
    """Place -> when it may be tried again, of those that may not yet."""
    found: dict[str, datetime] = {}
    for page in history:
        if page.retry_at and now < page.retry_at:
            found[page.place] = max(page.retry_at, found.get(page.place, page.retry_at))
    return found
