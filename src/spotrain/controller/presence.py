"""What a job has at its place, and what is on its way there."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.board import ScaleUp
from spotrain.controller.model import NodeView, Observed, PodView
from spotrain.controller.offers import workers_per_node
from spotrain.controller.replicas import done
from spotrain.controller.status import OfferStatus
from spotrain.job import ElasticJob, Offer

ARRIVAL_MINUTES: Final = 15
"""A node or an image that takes longer does not come any more: it is broken."""
PULL_FAULTS: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")


@dataclass(frozen=True)
class Presence:
    """Counts are of workers. All times are those of the pods and nodes seen."""

    housed: int
    """Have a node, whatever they do there, or are done."""
    homeless: int
    """Wait for a node."""
    booting: int
    """Would find room on nodes that are coming up."""
    arriving_until: datetime | None
    """While something arrives: when it counts as broken, if nothing changes; None: nothing does."""
    failed: ScaleUp | None
    """The autoscaler's last word on a worker without a node, if it is that none comes."""
    full: ScaleUp | None
    """The same, if it is that the group has as many nodes as it may."""


def look(job: ElasticJob, observed: Observed, offer: Offer, now: datetime) -> Presence:
    """What there is of `job` at `offer`. Pods of another place are on their way out."""
    here = [pod for pod in workers_at(observed.pods, offer.place) if not pod.deleting]
    homeless = [pod for pod in here if pod.node is None]
    boots = [at for node in observed.nodes if (at := _up_by(node, offer, now))]
    pulls = [at for pod in here if (at := _started_by(pod, now))]
    words = [observed.board.scale_ups[p.uid] for p in homeless if p.uid in observed.board.scale_ups]
    last = max(words, key=lambda word: word.at, default=None)
    return Presence(
        housed=len(here) - len(homeless) + len(done(observed.pods)),
        homeless=len(homeless),
        booting=len(boots) * workers_per_node(job, offer.pool),
        arriving_until=max([*boots, *pulls, *_ordered(last, now)], default=None),
        failed=last if last and last.kind == "failed" else None,
        full=last if last and last.kind == "full" else None,
    )


def workers_at(pods: Iterable[PodView], place: str) -> list[PodView]:
    """The living pods of a place. One that does not say its place was made before there were any,
    or by other hands; it counts as being where the job is."""
    return [p for p in pods if p.phase in ("Pending", "Running") and p.place in ("", place)]


def strays(pods: Iterable[PodView], offer: OfferStatus) -> list[PodView]:
    """Pods of a place that the job has left. No two workers of a world are in two places."""
    living = [pod for pod in pods if pod.phase in ("Pending", "Running") and not pod.deleting]
    return [pod for pod in living if pod.place not in ("", offer.place)]


def is_at(node: NodeView, offer: Offer) -> bool:
    return node.pool == offer.pool.name and offer.zone in ("", node.zone)


def _up_by(node: NodeView, offer: Offer, now: datetime) -> datetime | None:
    """When a node that comes up must be up; None: it is up, gone, or broken."""
    is_up = node.ready and (node.gpus or not offer.pool.gpus_per_node)
    if not is_at(node, offer) or is_up or node.silent_since or node.created_at is None:
        return None
    by = node.created_at + timedelta(minutes=ARRIVAL_MINUTES)
    return by if now < by else None


def _ordered(last: ScaleUp | None, now: datetime) -> list[datetime]:
    """When a node that was ordered must be up. Kubernetes knows of it only once it has booted."""
    if last is None or last.kind != "ordered":
        return []
    by = last.at + timedelta(minutes=ARRIVAL_MINUTES)
    return [by] if now < by else []


def _started_by(pod: PodView, now: datetime) -> datetime | None:
    """When a pod that pulls its image must have it; None: it pulls none."""
    if pod.phase != "Pending" or pod.scheduled_at is None or pod.waits_for in PULL_FAULTS:
        return None
    by = pod.scheduled_at + timedelta(minutes=ARRIVAL_MINUTES)
    return by if now < by else None
