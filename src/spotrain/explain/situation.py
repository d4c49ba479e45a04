"""What explanations are derived from: the cluster's objects as they are, and what they mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from spotrain import contract
from spotrain.controller.board import Board, ScaleUp
from spotrain.controller.model import NodeView, Observed, PodView
from spotrain.controller.observe import SeenJob, SeenPod, view_job, view_node, view_pod
from spotrain.controller.offers import list_offers
from spotrain.controller.presence import Presence, look
from spotrain.controller.scale_ups import SOURCE, view_scale_up
from spotrain.controller.status import Condition, JobStatus
from spotrain.explain.autoscaler import Autoscaler, read_autoscaler
from spotrain.explain.cause import Gravity
from spotrain.explain.happening import Happening, read_happening
from spotrain.job import (
    ElasticJob,
    InvalidDocument,
    Offer,
    Pool,
    Price,
    parse_pools,
    parse_prices,
    worker_container,
)

Object = Mapping[str, Any]
MISSING: Final[Object] = {}
"""Stands for an object that was looked for, and is not there."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Objects as the API server hands them out. None: nobody looked, or nobody was let in; `unseen`
    says why. MISSING: it is not there."""

    now: datetime
    job: Object
    pods: Sequence[Object] = ()
    """Of the job's namespace; those of others are passed over."""
    events: Sequence[Object] = ()
    """Of the job's namespace."""
    nodes: Sequence[Object] = ()
    quotas: Sequence[Object] = ()
    """The namespace's ResourceQuotas."""
    claims: Sequence[Object] | None = None
    """The namespace's PersistentVolumeClaims."""
    pools: Object | None = None
    """The ConfigMap contract.POOLS_CONFIGMAP."""
    prices: Object | None = None
    definition: Object | None = None
    """The CustomResourceDefinition of jobs."""
    controller: Object | None = None
    """The controller's Deployment."""
    autoscaler: Object | None = None
    """The ConfigMap in which cluster-autoscaler keeps its status."""
    unseen: Mapping[str, str] = field(default_factory=dict)
    """What could not be read -> why."""
    is_local: bool = False
    """Of this machine, whose nodes are made up."""


@dataclass(frozen=True)
class Case:
    """The situation, read."""

    raw: Situation
    seen: SeenJob
    pods: tuple[PodView, ...]
    nodes: tuple[NodeView, ...]
    pools: tuple[Pool, ...]
    prices: tuple[Price, ...]
    happenings: tuple[Happening, ...]
    """What was told of the job and its pods, the newest first."""
    scale_ups: Mapping[str, ScaleUp]
    """Pod uid -> the autoscaler's last word."""
    autoscaler: Autoscaler | None
    presence: Presence | None
    """At the job's place; None while it has none that is known."""

    @property
    def now(self) -> datetime:
        return self.raw.now

    @property
    def name(self) -> str:
        return self.seen.name

    @property
    def namespace(self) -> str:
        return self.seen.namespace

    @property
    def job(self) -> ElasticJob | None:
        """None: it does not parse."""
        return self.seen.job if isinstance(self.seen.job, ElasticJob) else None

    @property
    def status(self) -> JobStatus:
        return self.seen.status

    def condition(self, kind: str) -> Condition:
        return self.status.condition(kind) or Condition(kind, "Unknown")

    @property
    def homeless(self) -> list[PodView]:
        """Pods that wait for a node."""
        return [pod for pod in self.pods if pod.unschedulable and not pod.deleting]

    @property
    def housed(self) -> list[PodView]:
        """Pods that have a node and do not run on it yet."""
        return [p for p in self.pods if p.phase == "Pending" and p.node and not p.deleting]

    @property
    def trains(self) -> bool:
        return self.condition("Running").status == "True"

    def told_of(self, pod: PodView, *reasons: str) -> Happening | None:
        """The newest event of that pod with one of the reasons."""
        return next((h for h in self.happenings if h.uid == pod.uid and h.reason in reasons), None)

    def told(self, *reasons: str) -> Happening | None:
        """The newest event of the job or of any of its pods with one of the reasons."""
        return next((h for h in self.happenings if h.reason in reasons), None)

    def container(self, pod: PodView) -> Object:
        """The status of the pod's training container; empty while there is none."""
        document = next(raw for raw in self.raw.pods if raw["metadata"]["uid"] == pod.uid)
        name = trainer(document["spec"])["name"]
        states = (document.get("status") or {}).get("containerStatuses") or ()
        return next((state for state in states if state["name"] == name), {})

    def waiting(self, pod: PodView) -> str:
        """Why its training container does not start, in the kubelet's words."""
        state = self.container(pod).get("state") or {}
        return str((state.get("waiting") or {}).get("message") or "")

    def unless_it_trains(self, gravity: Gravity) -> Gravity:
        """A job that trains has enough workers: what keeps the others is worth a note."""
        return Gravity.NOTED if self.trains else gravity

    @property
    def blocked(self) -> Gravity:
        return self.unless_it_trains(Gravity.BLOCKED)

    def logs(self, *options: object) -> str:
        return " ".join(map(str, ("spotrain logs", self.name, *options)))

    def kubectl(self, words: str) -> str:
        return f"kubectl -n {self.namespace} {words}"

    @property
    def correction(self) -> str:
        """How its template is changed, which cannot be done under running workers."""
        edit, go_on = self.kubectl(f"edit elasticjob {self.name}"), f"spotrain resume {self.name}"
        is_stopped = bool((self.raw.job.get("spec") or {}).get("suspend"))
        return " && ".join((*([] if is_stopped else [f"spotrain stop {self.name}"]), edit, go_on))


def trainer(spec: Object) -> Object:
    """The container that trains, in a pod's spec."""
    found: Object = spec["containers"][worker_container({"spec": spec})]
    return found


def read(situation: Situation) -> Case:
    """Raises ValueError: the job is being deleted, which `explain` asks before."""
    seen = view_job(dict(situation.job))
    if seen is None:
        raise ValueError(f"{situation.job['metadata']['name']} is being deleted")
    pods = _pods(situation.pods, seen)
    scale_ups = _scale_ups(situation.events)
    board = Board(scale_ups=scale_ups, since=seen.since)
    nodes = tuple(view_node(dict(node)) for node in situation.nodes)
    pools, prices = _pools(situation.pools), _prices(situation.prices)
    observed = Observed(pods=pods, nodes=nodes, pools=pools, status=seen.status, board=board)
    return Case(
        raw=situation,
        seen=seen,
        pods=pods,
        nodes=nodes,
        pools=pools,
        prices=prices,
        happenings=_happenings(situation.events, seen, pods),
        scale_ups=scale_ups,
        autoscaler=read_autoscaler(situation.autoscaler),
        presence=_presence(seen, observed, prices, situation.now),
    )


def _pods(documents: Iterable[Object], seen: SeenJob) -> tuple[PodView, ...]:
    views: list[SeenPod] = [view for raw in documents if (view := view_pod(dict(raw)))]
    own = [view.view for view in views if view.owner == seen.uid]
    return tuple(sorted(own, key=lambda pod: pod.index))


def _happenings(
    documents: Iterable[Object], seen: SeenJob, pods: Iterable[PodView]
) -> tuple[Happening, ...]:
    """Events of pods that are gone count by their name; they came after the job was made."""
    uids = {seen.uid, *(pod.uid for pod in pods)}
    read = [happening for raw in documents if (happening := read_happening(raw))]
    own = [
        each
        for each in read
        if each.uid in uids
        or (each.is_of_worker(seen.name) and each.at >= seen.since and each.uid not in uids)
    ]
    return tuple(sorted(own, key=lambda each: each.at, reverse=True))


def _scale_ups(documents: Iterable[Object]) -> dict[str, ScaleUp]:
    words: dict[str, ScaleUp] = {}
    for raw in documents:
        source = (raw.get("source") or {}).get("component") or raw.get("reportingComponent")
        word = view_scale_up(raw) if source == SOURCE else None
        if word and (word[0] not in words or words[word[0]].at < word[1].at):
            words[word[0]] = word[1]
    return words


def _pools(document: Object | None) -> tuple[Pool, ...]:
    try:
        return parse_pools(((document or {}).get("data") or {}).get(contract.POOLS_KEY, ""))
    except InvalidDocument:
        return ()


def _prices(document: Object | None) -> tuple[Price, ...]:
    try:
        return parse_prices(((document or {}).get("data") or {}).get(contract.PRICES_KEY, ""))
    except InvalidDocument:
        return ()


def _presence(
    seen: SeenJob, observed: Observed, prices: Sequence[Price], now: datetime
) -> Presence | None:
    offer = offer_of(seen, observed.pools, prices, now)
    if offer is None or not isinstance(seen.job, ElasticJob):
        return None
    return look(seen.job, observed, offer, now)


def offer_of(
    seen: SeenJob, pools: Sequence[Pool], prices: Sequence[Price], now: datetime
) -> Offer | None:
    """The place on record, among those that there are."""
    status = seen.status.offer
    if status is None or not isinstance(seen.job, ElasticJob):
        return None
    offers = list_offers(seen.job, pools, prices, now.astimezone(UTC))
    return next((offer for offer in offers if offer.place == status.place), None)
