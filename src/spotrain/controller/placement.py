"""Where a job runs: one offer (a pool and a zone) for all its workers, and when it takes another.

A job keeps the offer it has, since workers in two zones would train slowly and pay for the traffic,
until the offer has failed it (`moving`) while it has too few workers to train: then the whole job
goes to the next one, and on from its checkpoint. Where there is no other it stays and waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from spotrain.controller import claims, moving, turns
from spotrain.controller.board import Board, Claim
from spotrain.controller.model import Observed, earliest
from spotrain.controller.moving import OFFER_GONE, PLACE_TAKEN, Setback, resting
from spotrain.controller.offers import Obstacle, gpus_at, list_offers, why_none
from spotrain.controller.presence import Presence, look
from spotrain.controller.share import UNLIMITED, Share, room_for_least, share
from spotrain.controller.status import OfferStatus, PastOffer
from spotrain.job import ElasticJob, Offer


@dataclass(frozen=True)
class Place:
    """Where the job's workers go, and how many of them may."""

    offer: Offer | None
    status: OfferStatus | None
    history: tuple[PastOffer, ...] = ()
    obstacle: Obstacle | None = None
    """Why no worker may be created now."""
    share: Share = UNLIMITED
    presence: Presence | None = None
    is_new: bool = False
    """Was it chosen just now?"""
    left: PastOffer | None = None
    """The place that it has left for this one."""
    moves_at: datetime | None = None
    """When it will be left, if nothing changes; None where there is no other, too."""
    has_failed: bool = False
    """It would be left, were there another one to go to."""
    look_again: datetime | None = None


def is_placed(job: ElasticJob) -> bool:
    """Does the job ask for a place? One that does not is left to the scheduler."""
    return bool(job.placement.gpu or job.placement.pools)


def find_place(job: ElasticJob, observed: Observed, now: datetime) -> Place:
    """The job's offer: the one it has while that serves it, else the next best there is."""
    history, current = observed.status.offer_history, observed.status.offer
    if not is_placed(job):
        return _within_allowance(job, observed, Place(None, None, history))
    offers = list_offers(job, observed.pools, observed.board.prices, now)
    if current is None:
        return _take(job, observed, offers, now)
    offer = next((each for each in offers if each.place == current.place), None)
    if offer:
        return _stay_or_move(job, observed, offers, offer, current, now)
    if observed.pods:
        return Place(None, current, history, _gone(current))
    page = moving.leave(current, Setback(OFFER_GONE, _gone(current).message), now)
    without = replace(observed.status, offer_history=moving.enter(history, page, now))
    return _take(job, replace(observed, status=without), offers, now, left=page)


def _take(
    job: ElasticJob,
    observed: Observed,
    offers: Sequence[Offer],
    now: datetime,
    left: PastOffer | None = None,
) -> Place:
    history = observed.status.offer_history
    if not offers:
        return Place(None, None, history, why_none(job, observed.pools))
    waits = _within_limits(job, observed, Place(None, None, history))
    if waits.obstacle and not observed.pods:
        return waits  # it takes no room from others meanwhile, and its place is that day's best
    best = _held(observed, offers) or _best(job, observed, offers, now) or offers[0]
    # Pods that wait already, of a time without a place, start the clock at once.
    presence = look(job, observed, best, now)
    status = OfferStatus(best.pool.name, best.zone, now)
    status = moving.advance(job, status, presence, now) if observed.pods else status
    ends = moving.patience_ends(job, status)
    place = Place(
        best,
        status,
        history,
        is_new=True,
        left=left,
        presence=presence,
        moves_at=_leaves_at(ends, offers, best, history),
        look_again=earliest(presence.arriving_until, ends),
    )
    return _within_allowance(job, observed, place)


def _stay_or_move(
    job: ElasticJob,
    observed: Observed,
    offers: Sequence[Offer],
    offer: Offer,
    current: OfferStatus,
    now: datetime,
) -> Place:
    """The place the job has, unless it has failed and there is another to go to.

    A place that failed is not marked before it is left: it may still come to serve, and the job's
    pods wait there rather than nowhere.
    """
    presence = look(job, observed, offer, now)
    status = moving.advance(job, current, presence, now)
    ends = moving.patience_ends(job, status)
    place = Place(
        offer,
        status,
        observed.status.offer_history,
        presence=presence,
        moves_at=_leaves_at(ends, offers, offer, observed.status.offer_history),
        look_again=earliest(presence.arriving_until, ends if ends and now < ends else None),
    )
    place = _within_allowance(job, observed, place)
    if place.obstacle and place.obstacle.reason != PLACE_TAKEN:
        return place  # no other place would help
    setback = moving.find_setback(job, status, presence, now) or _crowded_out(place)
    if setback is None:
        return place
    others = [each for each in offers if each.place != offer.place]
    target = _best(job, observed, others, now, needs_room=setback.reason == PLACE_TAKEN)
    if target is None:
        rests = resting(place.history, now)
        again = [rests[each.place] for each in others if each.place in rests]
        return replace(
            place, look_again=earliest(place.look_again, *again), moves_at=None, has_failed=True
        )
    page = moving.leave(status, setback, now)
    return Place(
        target,
        OfferStatus(target.pool.name, target.zone, now),
        moving.enter(place.history, page, now),
        share=_share_at(job, observed, target),
        is_new=True,
        left=page,
    )


def _leaves_at(
    ends: datetime | None,
    offers: Sequence[Offer],
    present: Offer,
    history: tuple[PastOffer, ...],
) -> datetime | None:
    """When patience `ends`, if there will be a place to go to then."""
    if ends is None:
        return None
    rests = resting(history, ends)
    others = (offer.place for offer in offers if offer.place != present.place)
    return ends if any(place not in rests for place in others) else None


def _held(observed: Observed, offers: Sequence[Offer]) -> Offer | None:
    """Where workers are though no place is on record: whoever made them died before it wrote that.
    Workers of a suspended job are leaving; its next place is chosen anew."""
    living = [pod for pod in observed.pods if pod.phase in claims.LIVING and not pod.deleting]
    held = {pod.place for pod in living}
    return next((offer for offer in offers if offer.place in held), None)


def _best(
    job: ElasticJob,
    observed: Observed,
    offers: Sequence[Offer],
    now: datetime,
    *,
    needs_room: bool = False,
) -> Offer | None:
    """The first offer that has not failed lately, and of these one with room if any has it."""
    rests = resting(observed.status.offer_history, now)
    fresh = [offer for offer in offers if offer.place not in rests]
    free = [offer for offer in fresh if _has_room(job, observed, offer)]
    if free or needs_room:
        return next(iter(free), None)
    return next(iter(fresh), None)


def _has_room(job: ElasticJob, observed: Observed, offer: Offer) -> bool:
    return room_for_least(
        _own(job, observed, offer.place),
        _at(observed.board, offer),
        gpus_at(offer),
        gpus_per_node=offer.pool.gpus_per_node,
        preempts=True,
    )


def _share_at(job: ElasticJob, observed: Observed, offer: Offer) -> Share:
    return share(
        _own(job, observed, offer.place),
        _at(observed.board, offer),
        gpus_at(offer),
        gpus_per_node=offer.pool.gpus_per_node,
        preempts=True,
    )


def _within_allowance(job: ElasticJob, observed: Observed, place: Place) -> Place:
    """How many workers others leave to the job, everywhere and at its place."""
    place = _within_limits(job, observed, place)
    if place.obstacle or place.offer is None:
        return place
    here = _share_at(job, observed, place.offer)
    obstacle = _taken(place.offer, here) if here.is_in_line else None
    return replace(place, obstacle=obstacle, share=_smaller(place.share, here))


def _within_limits(job: ElasticJob, observed: Observed, place: Place) -> Place:
    """The same of its researcher's GPUs and its sweep's turns."""
    mine = _own(job, observed, place.offer.place if place.offer else "")
    allowed = claims.allowance(mine, observed.board)
    turn = turns.turn(job, mine, observed.board)
    if obstacle := claims.over_limit(mine, observed.board, allowed):
        return replace(place, obstacle=obstacle, share=allowed)
    if obstacle := turns.out_of_turn(job, mine, turn):
        return replace(place, obstacle=obstacle, share=turn)
    return replace(place, share=_smaller(allowed, turn))


def _smaller(one: Share, other: Share) -> Share:
    return min(one, other, key=lambda each: each.limit)


def _own(job: ElasticJob, observed: Observed, place: str) -> Claim:
    return claims.claim_of(
        job, observed.pods, place=place, since=observed.board.since, status=observed.status
    )


def _at(board: Board, offer: Offer) -> list[Claim]:
    return [claim for claim in board.claims if claim.place == offer.place]


def _crowded_out(place: Place) -> Setback | None:
    found = place.obstacle
    return Setback(found.reason, found.message) if found and found.reason == PLACE_TAKEN else None


def describe(pool: str, zone: str) -> str:
    return f"pool {pool!r}" + (f", zone {zone!r}" if zone else "")


def _taken(offer: Offer, share: Share) -> Obstacle:
    jobs = "1 job goes" if share.ahead == 1 else f"{share.ahead} jobs go"
    message = (
        f"{describe(offer.pool.name, offer.zone)} has {gpus_at(offer):.0f} GPUs, and {jobs} before "
        "this one there; it starts when they leave enough, or in a place with room."
    )
    return Obstacle(PLACE_TAKEN, message)


def _gone(current: OfferStatus) -> Obstacle:
    message = (
        f"{describe(current.pool, current.zone)} is no longer offered to this job; its workers "
        "there train on, but none is replaced. The job takes another place when they are gone: "
        "suspend and resume it to move."
    )
    return Obstacle(OFFER_GONE, message)
