"""Whose every second of a node is: each is charged exactly once, to jobs or to the platform.

boot       node created -> the first pod of a job gets it: the job's, if it was there before
           the node, for then it asked for it
held       shared by request (`sharing`): a pod of 1 GPU on a node of 4 has a quarter, on a node
           without GPUs all pods have the same; what nobody asked for is the platform's
idle       nobody's pod is on it: the job's that left last, for as long as a cool-down takes
platform   the rest: nodes that no job had, that were there before their first job, and that
           somebody else keeps beyond the cool-down
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Final, NamedTuple

from spotrain.job.terms import UNKNOWN, Terms
from spotrain.ledger.entries import NodeEntry, Place, StayEntry
from spotrain.ledger.sharing import shares

IDLE_MINUTES: Final = 10.0
"""The autoscaler's own (scale-down-unneeded-time), where nobody says how it was set."""
ENDING: Final = timedelta(minutes=5)
"""What it takes to drain a node and to end its machine."""


def cool_down(terms: Terms) -> timedelta:
    """How long a node that its last job has left is that job's to pay."""
    idle_minutes = IDLE_MINUTES if terms.idle_minutes is None else terms.idle_minutes
    return timedelta(minutes=idle_minutes) + ENDING


class Use(StrEnum):
    BOOT = "boot"
    HELD = "held"
    IDLE = "idle"
    SPARE = "spare"
    """Of the platform: room on a node that nobody asked for, and nodes that no job has to pay."""


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A job, as far as nodes are concerned."""

    job: str
    """Whatever tells it from all others."""
    created_at: datetime
    stays: Sequence[StayEntry]


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A share of a node over a stretch of time."""

    job: str | None
    """None: the platform's."""
    use: Use
    node: str
    place: Place
    gpus: int
    """That the whole node has."""
    share: Fraction
    start: datetime
    end: datetime

    @property
    def node_hours(self) -> float:
        return float(self.share) * (self.end - self.start) / timedelta(hours=1)


def attribute(
    nodes: Iterable[NodeEntry],
    tenants: Iterable[Tenant],
    *,
    now: datetime,
    terms: Terms = UNKNOWN,
) -> list[Charge]:
    """Share out the lives of all nodes, in order of time for each; those alive, until `now`.

    A node of which only stays tell, but no entry, lives from its creation as far as that was seen
    to the end of the last stay: its boot is charged, its cool-down is not known.
    """
    lives = {_Key(node.name, node.created_at): node for node in nodes}
    stays = _by_node(tenants, lives, now)
    for key in stays.keys() - lives.keys():
        lives[key] = _unrecorded(stays[key], created_at=key.created_at)
    charges: list[Charge] = []
    for key, node in lives.items():
        end = min(node.gone_at or now, now)
        held = [cut for stay in stays.get(key, ()) if (cut := stay.within(node.created_at, end))]
        charges.extend(_share(node, end, held, cool_down(terms)))
    return charges


class _Key(NamedTuple):
    """A node: names come back, on AWS with the addresses."""

    name: str
    created_at: datetime


@dataclass(frozen=True)
class _Stay:
    tenant: Tenant
    entry: StayEntry
    start: datetime
    end: datetime

    def within(self, start: datetime, end: datetime) -> "_Stay | None":
        """What of it falls into the node's life; None: nothing."""
        start, end = max(self.start, start), min(self.end, end)
        return _Stay(self.tenant, self.entry, start, end) if start < end else None


_Owners = Mapping[tuple[str | None, Use], Fraction]


def _by_node(
    tenants: Iterable[Tenant], known: Iterable[_Key], now: datetime
) -> dict[_Key, list[_Stay]]:
    stays = [
        _Stay(tenant, entry, entry.scheduled_at, entry.ended_at or now)
        for tenant in tenants
        for entry in {entry.uid: entry for entry in tenant.stays}.values()
        if entry.scheduled_at is not None and entry.place is not None
    ]
    seen = (_Key(stay.entry.node, at) for stay in stays if (at := stay.entry.node_created_at))
    keys = {*known, *seen}
    found: dict[_Key, list[_Stay]] = defaultdict(list)
    for stay in sorted(stays, key=lambda stay: stay.start):
        key = _key(stay, keys)
        keys.add(key)
        found[key].append(stay)
    return found


def _key(stay: _Stay, keys: Iterable[_Key]) -> _Key:
    """A creation that was not seen is the newest known one of that name before the stay."""
    name, created_at = stay.entry.node, stay.entry.node_created_at
    if created_at is None:
        before = [key.created_at for key in keys if key.name == name]
        created_at = max((at for at in before if at <= stay.start), default=stay.start)
    return _Key(name, created_at)


def _unrecorded(stays: Sequence[_Stay], *, created_at: datetime) -> NodeEntry:
    entry = stays[0].entry
    assert entry.place is not None  # those without a place hold no node
    return NodeEntry(
        name=entry.node,
        uid="",
        place=entry.place,
        gpus=entry.node_gpus,
        created_at=created_at,
        gone_at=max(stay.end for stay in stays),
    )


def _share(
    node: NodeEntry, end: datetime, stays: Sequence[_Stay], cool_down: timedelta
) -> Iterator[Charge]:
    """Cut the node's life wherever its owners may change."""
    cuts = {node.created_at, end}
    cuts |= {at for stay in stays for at in (stay.start, stay.end, stay.end + cool_down)}
    for begin, finish in pairwise(sorted(at for at in cuts if node.created_at <= at <= end)):
        for (job, use), share in _owners(node, begin, stays, cool_down).items():
            yield Charge(
                job=job,
                use=use,
                node=node.name,
                place=node.place,
                gpus=node.gpus,
                share=share,
                start=begin,
                end=finish,
            )


def _owners(node: NodeEntry, at: datetime, stays: Sequence[_Stay], cool_down: timedelta) -> _Owners:
    """Who has the node from `at` to the next cut; the shares add up to 1."""
    present = [stay for stay in stays if stay.start <= at < stay.end]
    if present:
        return _held(node, present)
    gone = [stay for stay in stays if stay.end <= at]
    if gone:
        left_at = max(stay.end for stay in gone)
        if at < left_at + cool_down:
            return _whole(Use.IDLE, [stay for stay in gone if stay.end == left_at])
    elif stays:
        came_at = min(stay.start for stay in stays)
        first = [stay for stay in stays if stay.start == came_at]
        asked = [stay for stay in first if stay.tenant.created_at <= node.created_at]
        if asked:
            return _whole(Use.BOOT, asked)
    return {(None, Use.SPARE): Fraction(1)}


def _held(node: NodeEntry, present: Sequence[_Stay]) -> _Owners:
    """As `sharing` says; what nobody asked for is the platform's."""
    parts = shares([stay.entry for stay in present], node.gpus)
    owners: dict[tuple[str | None, Use], Fraction] = defaultdict(Fraction)
    for stay, share in zip(present, parts, strict=True):
        owners[stay.tenant.job, Use.HELD] += share
    owners[None, Use.SPARE] = 1 - sum(parts, Fraction())
    return {owner: share for owner, share in owners.items() if share}


def _whole(use: Use, stays: Sequence[_Stay]) -> _Owners:
    """All of the node to these, by what they ask for; without GPUs, to each the same."""
    weights = [stay.entry.gpus for stay in stays]
    if not any(weights):
        weights = [1] * len(stays)
    owners: dict[tuple[str | None, Use], Fraction] = defaultdict(Fraction)
    for stay, weight in zip(stays, weights, strict=True):
        if weight:
            owners[stay.tenant.job, use] += Fraction(weight, sum(weights))
    return owners
