"""Where the job goes next, and when: the controller's own rules, from the clock on record."""

from spotrain.controller import moving
from spotrain.controller.offers import list_offers
from spotrain.explain.cause import clock
from spotrain.explain.situation import Case
from spotrain.job import Offer


def next_move(case: Case) -> str:
    """What the controller will do about it, from the clock on record."""
    job, status = case.job, case.status
    if job is None or status.offer is None or case.presence is None or case.trains:
        return ""
    if case.presence.housed >= job.min_replicas:
        return ""
    targets = _elsewhere(case)
    if not targets:
        return f" There is no other place for it; it waits there.{_rests(case)}"
    where = f"{targets[0].pool.name}, zone {targets[0].zone}".removesuffix(", zone ")
    if case.presence.failed:
        return f" It moves to {where} now."
    ends = moving.patience_ends(job, status.offer)
    if ends is None:
        return ""
    return f" At {clock(max(ends, case.now))} it moves to {where}, if nothing comes before."


def _elsewhere(case: Case) -> list[Offer]:
    """The controller's list of places, without the present one and those that rest."""
    offer = case.status.offer
    if case.job is None or offer is None:
        return []
    rests = moving.resting(case.status.offer_history, case.now)
    offers = list_offers(case.job, case.pools, case.prices, case.now)
    return [each for each in offers if each.place != offer.place and each.place not in rests]


def _rests(case: Case) -> str:
    rests = moving.resting(case.status.offer_history, case.now)
    if not rests:
        return ""
    place, until = min(rests.items(), key=lambda item: item[1])
    return f" {place.replace('/', ', zone ')} failed lately and is tried again from {clock(until)}."
