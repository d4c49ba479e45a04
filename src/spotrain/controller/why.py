"""The sentences that a person reads in `kubectl describe`: why does my job wait, and until when?

No sentence changes while nothing changes: it names moments, never how long ago they were.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from spotrain.controller.model import Observed, PodView
from spotrain.controller.offers import Obstacle
from spotrain.controller.placement import Place
from spotrain.controller.presence import PULL_FAULTS
from spotrain.controller.replicas import least
from spotrain.controller.status import PastOffer, ReplicaStatus
from spotrain.counts import count, ready_of
from spotrain.job import ElasticJob, Offer

QUOTA: Final = "QuotaExceeded"
FAILED_CREATE: Final = "FailedCreate"
REFUSED: Final = "The API server takes no further worker"


def why(job: ElasticJob, observed: Observed, *, workers: ReplicaStatus, place: Place) -> str:
    """How many workers there are, what the others wait for, and what happens next."""
    needed = least(job, observed.pods)
    said = f"{ready_of(workers.ready, job.replicas)} ready, {needed} needed."
    return " ".join((said, *_reasons(job, observed, place)))


def refusal_reason(refusal: str) -> str:
    """One word for the API server's refusal of a pod."""
    return QUOTA if "exceeded quota" in refusal else FAILED_CREATE


def refused(observed: Observed) -> Obstacle | None:
    """What to tell of the API server's refusal: it does not pass by itself."""
    refusal = observed.board.refusal
    if not refusal:
        return None
    reason = refusal_reason(refusal)
    next_step = (
        "it is tried again until others leave or the quota is raised."
        if reason == QUOTA
        else "correct the template, or what refuses it; it is tried again meanwhile."
    )
    return Obstacle(reason, f"{REFUSED}: {refusal}; {next_step}")


def describe_offer(offer: Offer) -> str:
    """As t4-spot, eu-west-1a (spot, $0.158 a node and hour)."""
    price = f", ${offer.usd_per_hour:.3f} a node and hour" if offer.usd_per_hour else ""
    return f"{offer.pool.name}, {offer.zone or 'any zone'} ({offer.pool.capacity}{price})"


def describe_past(page: PastOffer) -> str:
    return f"left {page.pool}, {page.zone or 'any zone'} ({page.reason}: {page.message})"


def _reasons(job: ElasticJob, observed: Observed, place: Place) -> Iterator[str]:
    homeless = [pod for pod in observed.pods if pod.unschedulable and not pod.deleting]
    if homeless:
        told = homeless[0].unschedulable
        yield f"{len(homeless)} without a node: {told}" + ("" if told.endswith(".") else ".")
        yield from _autoscaler(observed, homeless)
    yield from _images(observed)
    if place.obstacle:
        yield place.obstacle.message
    refusal = refused(observed)
    if refusal:
        yield refusal.message
    if place.offer and place.presence:
        yield from _next_move(job, place.offer, place)
    if place.share.limit < job.replicas and not place.obstacle:
        yield (
            f"It may have {count(int(place.share.limit), 'worker')} now: other jobs hold the "
            "rest, or need it to start, which comes before growing."
        )


def _autoscaler(observed: Observed, homeless: list[PodView]) -> Iterator[str]:
    told = [observed.board.scale_ups.get(pod.uid) for pod in homeless]
    last = max((word for word in told if word), key=lambda word: word.at, default=None)
    if last:
        yield f"The autoscaler: {last.message}"


def _images(observed: Observed) -> Iterator[str]:
    stuck = [pod.name for pod in observed.pods if pod.waits_for in PULL_FAULTS]
    if stuck:
        yield f"{stuck[0]} cannot pull its image: correct its name, or the right to pull it."


def _next_move(job: ElasticJob, offer: Offer, place: Place) -> Iterator[str]:
    presence = place.presence
    if presence is None or presence.housed >= job.min_replicas:
        return
    if presence.arriving_until:
        yield f"A node or an image is on its way in {offer.pool.name}; the job waits for it."
    elif place.moves_at:
        yield (
            f"If nothing comes by {_clock(place.moves_at)} it moves from {offer.pool.name}, "
            f"{offer.zone or 'any zone'}, to the next place."
        )
    elif place.has_failed and presence.homeless:
        resting = [page for page in place.history if page.retry_at]
        tried = f" (last {describe_past(resting[0])})" if resting else ""
        yield f"There is no other place to go to now{tried}; it waits in {offer.pool.name}."


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%S UTC")
