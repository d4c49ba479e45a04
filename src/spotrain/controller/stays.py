"""What each pod of a job waits for and holds, entered from what is seen of it.

An entry keeps each time that it was given first, so that none moves once it was written. The end of
a pod that went unseen is the moment at which it was missed.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.model import NodeView, Observed, PodView
from spotrain.job import Pool
from spotrain.ledger.entries import Place, StayEntry

DELETED: Final = "Deleted"
"""Why a pod ended that somebody else has removed."""
OVER: Final = ("Succeeded", "Failed")
NODE_SECONDS: Final = 15
"""A node that a pod has got is entered so long after it at the latest. Most pods are ready before,
which is entered at once."""


def enter_by(stays: tuple[StayEntry, ...], observed: Observed, now: datetime) -> datetime | None:
    """When the stays must be entered, for who looks later might miss something; None: no need."""
    living = {pod.uid for pod in observed.pods if pod.phase not in OVER}
    there = living | {pod.uid for pod in observed.pods}
    known = {stay.uid for stay in stays}
    held = {stay.uid for stay in stays if stay.ended_at is None}
    if there - known or held - living:
        return now
    homeless = {stay.uid for stay in stays if stay.scheduled_at is None}
    got = [p.scheduled_at or p.created_at for p in observed.pods if p.node and p.uid in homeless]
    return min(got) + timedelta(seconds=NODE_SECONDS) if got else None


def follow_stays(
    stays: tuple[StayEntry, ...], observed: Observed, reasons: Mapping[str, str], now: datetime
) -> tuple[StayEntry, ...]:
    """The stays, oldest first. `reasons`: uid of a pod -> why it is being removed."""
    known = {stay.uid: stay for stay in stays}
    for pod in observed.pods:
        known[pod.uid] = _follow(known.get(pod.uid), pod, observed, reasons, now)
    there = {pod.uid for pod in observed.pods}
    for stay in stays:
        if stay.ended_at is None and stay.uid not in there:
            known[stay.uid] = replace(stay, ended_at=now, reason=stay.reason or DELETED)
    return tuple(sorted(known.values(), key=lambda stay: (stay.created_at, stay.uid)))


def _follow(
    stay: StayEntry | None,
    pod: PodView,
    observed: Observed,
    reasons: Mapping[str, str],
    now: datetime,
) -> StayEntry:
    stay = stay or StayEntry(pod=pod.name, uid=pod.uid, gpus=pod.gpus, created_at=pod.created_at)
    is_over = pod.phase in OVER
    if pod.node and stay.scheduled_at is None:
        stay = replace(stay, node=pod.node, scheduled_at=pod.scheduled_at or now)
    if stay.started_at is None:
        runs = pod.phase == "Running" and not pod.waits_for
        stay = replace(stay, started_at=pod.started_at or (now if runs else None))
    stay = _with_traffic(stay, observed)
    if pod.node and stay.place is None:
        stay = _placed(stay, pod, observed, is_over=is_over)
    reason = stay.reason or reasons.get(pod.uid, "")
    if not is_over:  # one that was missed by mistake lives on
        return replace(stay, reason=reason, ended_at=None)
    began_at = stay.started_at or stay.scheduled_at or stay.created_at
    ended_at = max(began_at, min(pod.ended_at or now, now))
    return replace(
        stay, ended_at=stay.ended_at or ended_at, reason=reason or pod.reason or _outcome(pod)
    )


def _with_traffic(stay: StayEntry, observed: Observed) -> StayEntry:
    """A coordinator that was restarted hears it again. An earlier pod of that name told before this
    one was made."""
    told = observed.world.traffic.get(stay.pod) if observed.world else None
    if told is None or told.at < stay.created_at:
        return stay
    return replace(stay, read_bytes=told.read_bytes, written_bytes=told.written_bytes)


def _placed(stay: StayEntry, pod: PodView, observed: Observed, *, is_over: bool) -> StayEntry:
    """By its node; where nodes cannot be seen, or this one never was, by the pod's own word."""
    node = next((node for node in observed.nodes if node.name == pod.node), None)
    pools = {pool.name: pool for pool in observed.pools}
    if node is None:
        name, _, zone = pod.place.partition("/")
        if not name or (observed.nodes and not is_over):
            return stay
        place = _place(name, zone, pools.get(name))
        return replace(stay, place=place, node_gpus=_gpus(None, pools.get(name)))
    pool = pools.get(node.pool)
    place = _place(node.pool, node.zone, pool, node)
    return replace(stay, place=place, node_gpus=_gpus(node, pool), node_created_at=node.created_at)


def _place(name: str, zone: str, pool: Pool | None, node: NodeView | None = None) -> Place:
    capacity = (node.capacity if node else "") or (pool.capacity if pool else "")
    return Place(
        pool=name,
        zone=zone,
        capacity=capacity or contract.CAPACITY_ON_DEMAND,
        instance_type=node.instance_type if node else "",
    )


def _gpus(node: NodeView | None, pool: Pool | None) -> int:
    """A node offers none until its device plugin has started."""
    return (node.gpus if node else 0) or (pool.gpus_per_node if pool else 0)


def _outcome(pod: PodView) -> str:
    return "Completed" if pod.phase == "Succeeded" else f"exit code {pod.exit_code}"
