"""The places where a whole job may run, the best first, and why there is none."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spotrain import contract
from spotrain.job import CAPACITIES, PRICE_HOURS, ElasticJob, Offer, Pool, Price


@dataclass(frozen=True)
class Obstacle:
    """Why no worker may be created."""

    reason: str
    message: str


def list_offers(
    job: ElasticJob, pools: Sequence[Pool], prices: Sequence[Price], now: datetime
) -> tuple[Offer, ...]:
    """Every place where the whole job may run, the best first: by capacity, then by GPU price."""
    order = CAPACITIES[job.placement.capacity]
    fitting = [p for p in pools if _is_asked_for(job, p) and room(job, p) >= job.min_replicas]
    told = _cheapest(prices, now)
    offers = [
        Offer(pool, zone, _told(told, pool, zone)) for pool in fitting for zone in _zones(job, pool)
    ]
    # Python's sort is stable: places of one price keep the order in which the platform lists them.
    return tuple(sorted(offers, key=lambda o: (order.index(o.pool.capacity), o.usd_per_gpu_hour)))


def room(job: ElasticJob, pool: Pool) -> float:
    """Workers that find a place in the pool at most: in one zone, or in all where that is asked.

    A GPU belongs to one worker, so GPUs can be counted. How many workers share the processors of a
    node, only the scheduler knows: a pool without GPUs has room for any number that asks for none.
    """
    if not pool.gpus_per_node:
        return math.inf if pool.max_nodes and not job.gpus_per_worker else 0
    zones = len(pool.zones) if job.placement.zone == "any" else 1
    return workers_per_node(job, pool) * pool.max_nodes * zones


def workers_per_node(job: ElasticJob, pool: Pool) -> int:
    """Workers of the job that the GPUs of one node serve; at least one where none is counted."""
    if not pool.gpus_per_node:
        return 1
    return pool.gpus_per_node // max(job.gpus_per_worker, 1)


def gpus_at(offer: Offer) -> float:
    """GPUs that the place has when it is fully grown; infinite where none is counted."""
    if not offer.pool.gpus_per_node:
        return math.inf
    zones = 1 if offer.zone else len(offer.pool.zones)
    return offer.pool.gpus_per_node * offer.pool.max_nodes * zones


def why_none(job: ElasticJob, pools: Sequence[Pool]) -> Obstacle:
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


def _cheapest(prices: Sequence[Price], now: datetime) -> dict[tuple[str, str], float]:
    """(pool, zone) -> the cheapest fresh price of its instance types.

    Which type a node group gets is the cloud's choice; it prefers the cheap ones that it has.
    """
    fresh = [p for p in prices if now - p.at <= timedelta(hours=PRICE_HOURS)]
    found: dict[tuple[str, str], float] = {}
    for price in fresh:
        place = price.pool, price.zone
        found[place] = min(price.spot_usd_per_hour, found.get(place, math.inf))
    return found


def _told(prices: Mapping[tuple[str, str], float], pool: Pool, zone: str) -> float | None:
    """Spot prices are all that is told; a job that may use any zone reckons with the dearest."""
    if pool.capacity != contract.CAPACITY_SPOT:
        return None
    if zone:
        return prices.get((pool.name, zone))
    everywhere = [prices.get((pool.name, each)) for each in pool.zones]
    known = [price for price in everywhere if price is not None]
    return max(known) if len(known) == len(everywhere) else None


def _is_asked_for(job: ElasticJob, pool: Pool) -> bool:
    wanted = job.placement
    return (
        wanted.gpu in (None, pool.gpu)
        and (not wanted.pools or pool.name in wanted.pools)
        and pool.capacity in CAPACITIES[wanted.capacity]
    )


def _zones(job: ElasticJob, pool: Pool) -> tuple[str, ...]:
    """The pool's zones, or the one that the template names; any zone is the empty one."""
    named = _named_zone(job)
    if named:
        return (named,) if named in pool.zones else ()
    return ("",) if job.placement.zone == "any" else pool.zones


def _named_zone(job: ElasticJob) -> str | None:
    selector: Mapping[str, str] = job.template["spec"].get("nodeSelector") or {}
    return selector.get(contract.LABEL_ZONE)
