"""Where a job runs: one offer (a pool and a zone) for all its workers.

Offers are tried in order of capacity, then price. A job that has chosen one keeps it: workers in
two zones would train slowly and pay for the traffic.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from spotrain import contract
from spotrain.controller.model import Observed
from spotrain.controller.status import OfferStatus
from spotrain.job import ElasticJob, Offer, Pool

CAPACITIES: Final = {
    "spotThenOnDemand": (contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND),
    "spot": (contract.CAPACITY_SPOT,),
    "onDemand": (contract.CAPACITY_ON_DEMAND,),
}
"""What a job may buy, the first choice first."""


@dataclass(frozen=True)
class Obstacle:
    """Why no worker may be created."""

    reason: str
    message: str


@dataclass(frozen=True)
class Place:
    offer: Offer | None
    status: OfferStatus | None
    obstacle: Obstacle | None = None
    is_new: bool = False


def is_placed(job: ElasticJob) -> bool:
    """Does the job ask for a place? One that does not is left to the scheduler."""
    return bool(job.placement.gpu or job.placement.pools)


def find_place(job: ElasticJob, observed: Observed, now: datetime) -> Place:
    """The job's offer: the one it has while that stands, else the best there is."""
    if not is_placed(job):
        return Place(None, None)
    offers = list_offers(job, observed.pools)
    current = observed.status.offer
    if current:
        for offer in offers:
            if (offer.pool.name, offer.zone) == (current.pool, current.zone):
                return Place(offer, current)
        if observed.pods:
            return Place(None, current, _gone(current))
    if not offers:
        return Place(None, None, _nothing(job, observed.pools))
    best = offers[0]
    return Place(best, OfferStatus(best.pool.name, best.zone, now), is_new=True)


def list_offers(job: ElasticJob, pools: Sequence[Pool]) -> tuple[Offer, ...]:
    """Every place where the whole job may run, the best first."""
    order = CAPACITIES[job.placement.capacity]
    fitting = [pool for pool in pools if _is_asked_for(job, pool) and _fits(job, pool)]
    # Python's sort is stable: pools of one price keep the order in which the platform lists them.
    fitting.sort(key=lambda pool: (order.index(pool.capacity), pool.usd_per_gpu_hour))
    return tuple(Offer(pool, zone) for pool in fitting for zone in _zones(job, pool))


def room(job: ElasticJob, pool: Pool) -> float:
    """Workers that find a place in the pool at most: in one zone, or in all where that is asked.

    A GPU belongs to one worker, so GPUs can be counted. How many workers share the processors of a
    node, only the scheduler knows: a pool without GPUs has room for any number that asks for none.
    """
    if not pool.gpus_per_node:
        return math.inf if pool.max_nodes and not job.gpus_per_worker else 0
    per_node = pool.gpus_per_node // max(job.gpus_per_worker, 1)
    zones = len(pool.zones) if job.placement.zone == "any" else 1
    return per_node * pool.max_nodes * zones


def _is_asked_for(job: ElasticJob, pool: Pool) -> bool:
    wanted = job.placement
    return (
        wanted.gpu in (None, pool.gpu)
        and (not wanted.pools or pool.name in wanted.pools)
        and pool.capacity in CAPACITIES[wanted.capacity]
    )


def _fits(job: ElasticJob, pool: Pool) -> bool:
    return room(job, pool) >= job.min_replicas


def _zones(job: ElasticJob, pool: Pool) -> tuple[str, ...]:
    """The pool's zones, or the one that the template names; any zone is the empty one."""
    named = _named_zone(job)
    if named:
        return (named,) if named in pool.zones else ()
    return ("",) if job.placement.zone == "any" else pool.zones


def _named_zone(job: ElasticJob) -> str | None:
    selector: Mapping[str, str] = job.template["spec"].get("nodeSelector") or {}
    return selector.get(contract.LABEL_ZONE)


def _gone(current: OfferStatus) -> Obstacle:
    where = f"pool {current.pool!r}" + (f", zone {current.zone!r}" if current.zone else "")
    message = (
        f"{where} is no longer offered to this job; its workers there train on, but none is "
        "replaced. The job takes another place when they are gone: suspend and resume it to move."
    )
    return Obstacle("OfferGone", message)


def _nothing(job: ElasticJob, pools: Sequence[Pool]) -> Obstacle:
    """Why there is no offer at all, with what there is instead."""
    wanted = job.placement
    gpus, names = sorted({p.gpu for p in pools}), sorted(p.name for p in pools)
    if not pools:
        message = (
            f"the platform offers no pools; is the ConfigMap {contract.POOLS_CONFIGMAP} there?"
        )
        return Obstacle("NoPools", message)
    if wanted.gpu and wanted.gpu not in gpus:
        message = f"no pool has GPU type {wanted.gpu!r}; there are: {', '.join(gpus)}."
        return Obstacle("UnknownGpu", f"{message} Set spec.placement.gpu to one of these.")
    unknown = [name for name in wanted.pools if name not in names]
    if unknown:
        message = f"no pool is named {', '.join(unknown)}; there are: {', '.join(names)}."
        return Obstacle("UnknownPool", f"{message} Correct spec.placement.pools.")
    asked = [pool for pool in pools if _is_asked_for(job, pool)]
    if not asked:
        message = (
            f"no pool has all that spec.placement asks for (gpu {wanted.gpu or 'any'}, capacity "
            f"{wanted.capacity}, pools {', '.join(wanted.pools) or 'any'}); ask for less."
        )
        return Obstacle("NoOffer", message)
    named = _named_zone(job)
    if named and all(named not in pool.zones for pool in asked):
        zones = ", ".join(sorted({zone for pool in asked for zone in pool.zones}))
        message = f"the template's nodeSelector asks for zone {named!r}; there are: {zones}."
        return Obstacle("UnknownZone", f"{message} Correct or remove it.")
    rooms = ", ".join(f"{pool.name} has room for {room(job, pool)}" for pool in asked)
    message = (
        f"minReplicas is {job.min_replicas} with {job.gpus_per_worker} GPUs each, but {rooms}; "
        "lower minReplicas, or let the platform's pools grow."
    )
    return Obstacle("NoRoom", message)
