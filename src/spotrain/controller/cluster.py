"""The cluster as the controller sees it, and whom a change of it concerns."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from spotrain import contract
from spotrain.controller.board import Board
from spotrain.controller.mirror import Mirror, Name
from spotrain.controller.model import BudgetView, NodeView, PodView
from spotrain.controller.observe import (
    SeenBudget,
    SeenJob,
    SeenPod,
    pods_of,
    view_budget,
    view_job,
    view_node,
    view_pod,
)
from spotrain.controller.scale_ups import SELECTOR, Word, view_scale_up
from spotrain.controller.survey import Survey
from spotrain.job import Pool, Price, Terms, parse_pools, parse_prices, parse_terms
from spotrain.job.documents import InvalidDocument
from spotrain.job.terms import UNKNOWN
from spotrain.kinds import CONFIG_MAPS, DISRUPTION_BUDGETS, EVENTS, JOBS, NODES, PODS, Object

logger = logging.getLogger(__name__)

ADVICE_SECONDS: Final = 5.0
Pools = tuple[Pool, ...]
Prices = tuple[Price, ...]


class Platform(NamedTuple):
    """What the stack tells of itself."""

    pools: Pools = ()
    terms: Terms = UNKNOWN


@dataclass
class Cluster:
    """Mirrors of all that a decision rests on.

    `job_changed` is told of every change of a job itself, `concerned` of the (namespace, name) of
    a job around which something has changed.
    """

    namespace: str
    """Whose jobs are looked at; empty: all."""
    job_changed: Callable[[SeenJob | None, SeenJob | None], None]
    concerned: Callable[[Name], None]
    watches_nodes: bool = True
    """False: the controller may not, and knows of nodes what their pods say."""
    max_gpus: int | None = None
    """Most GPUs that the jobs of one researcher hold together; None: any number."""
    jobs: Mirror[SeenJob] = field(init=False)
    pods: Mirror[SeenPod] = field(init=False)
    nodes: Mirror[NodeView] = field(init=False)
    platform: Mirror[Platform] = field(init=False)
    budgets: Mirror[SeenBudget] = field(init=False)
    prices: Mirror[Prices] = field(init=False)
    scale_ups: Mirror[Word] = field(init=False)
    survey: Survey = field(init=False)
    _is_advised: bool = False
    gang_apis: frozenset[str] = frozenset()
    """API versions of the PodGroups that the API server knows."""

    def __post_init__(self) -> None:
        self.survey = Survey(self.concerned, self.max_gpus)
        self.jobs = Mirror(
            kind=JOBS,
            parse=view_job,
            changed=self._job_seen,
            namespace=self.namespace,
        )
        self.pods = Mirror(
            kind=PODS,
            parse=view_pod,
            changed=self._pod_changed,
            namespace=self.namespace,
            selector={"labelSelector": f"{contract.LABEL_GROUP}={contract.GROUP}"},
        )
        self.nodes = Mirror(kind=NODES, parse=view_node, changed=self._node_changed)
        self.platform = Mirror(
            kind=CONFIG_MAPS,
            parse=self._parse_platform,
            changed=lambda _name, _old, _new: self._wake_all(),
            namespace=contract.SYSTEM_NAMESPACE,
            selector={"fieldSelector": f"metadata.name={contract.POOLS_CONFIGMAP}"},
        )
        self.prices = Mirror(
            kind=CONFIG_MAPS,
            parse=self._parse_prices,
            changed=lambda _name, _old, _new: None,  # they matter when a place is chosen
            namespace=contract.SYSTEM_NAMESPACE,
            selector={"fieldSelector": f"metadata.name={contract.PRICES_CONFIGMAP}"},
        )
        self.scale_ups = Mirror(
            kind=EVENTS,
            parse=view_scale_up,
            changed=self.survey.put_word,
            namespace=self.namespace,
            selector=SELECTOR,
        )
        self.budgets = Mirror(
            kind=DISRUPTION_BUDGETS,
            parse=view_budget,
            changed=lambda name, _old, _new: self.concerned(name),  # it has its job's name
            namespace=self.namespace,
            selector={"labelSelector": f"{contract.LABEL_GROUP}={contract.GROUP}"},
        )

    @property
    def mirrors(self) -> tuple[Mirror[Any], ...]:
        """Those without which nothing can be decided."""
        nodes = (self.nodes,) if self.watches_nodes else ()
        return self.jobs, self.pods, self.platform, self.budgets, *nodes

    @property
    def advisers(self) -> tuple[Mirror[Any], ...]:
        """Those that make decisions better: a cluster may lack prices, or an autoscaler."""
        return self.prices, self.scale_ups

    @property
    def is_known(self) -> bool:
        """Has everything been listed at least once?"""
        return all(mirror.synced.is_set() for mirror in self.mirrors)

    async def known(self) -> None:
        """Everything has been listed. Advice is waited for once and not for long: a place is kept
        once it is chosen, so the first choice after a start must know today's prices."""
        for mirror in self.mirrors:
            await mirror.synced.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0 if self._is_advised else ADVICE_SECONDS):
                for mirror in self.advisers:
                    await mirror.synced.wait()
        self._is_advised = True

    @property
    def offered_pools(self) -> Pools:
        return self._told.pools

    @property
    def _told(self) -> Platform:
        return next(iter(self.platform.items.values()), Platform())

    def pods_of(self, seen: SeenJob) -> tuple[PodView, ...]:
        """The workers of this very job, in the order of their index."""
        return pods_of(seen, self.survey.pods_of(seen.uid))

    def budget_of(self, seen: SeenJob) -> BudgetView | None:
        """The PodDisruptionBudget of this very job."""
        found = self.budgets.items.get((seen.namespace, seen.name))
        return found.view if found and found.owner == seen.uid else None

    def find_job(self, key: str) -> SeenJob | None:
        """The job of that key, if it is still the one of that uid."""
        namespace, name, uid = key.split("/")
        seen = self.jobs.items.get((namespace, name))
        return seen if seen and seen.uid == uid else None

    def board(self, seen: SeenJob, refusal: str = "") -> Board:
        """What concerns the job beside its own pods."""
        prices = next(iter(self.prices.items.values()), ())
        return self.survey.board(seen, prices=prices, terms=self._told.terms, refusal=refusal)

    def _job_seen(self, _name: Name, old: SeenJob | None, new: SeenJob | None) -> None:
        self.survey.put_job(old, new)
        self.job_changed(old, new)

    def _pod_changed(self, _name: Name, old: SeenPod | None, new: SeenPod | None) -> None:
        self.survey.put_pod(old, new)
        for pod in (old, new):
            if pod:
                self.concerned((pod.namespace, pod.job_name))

    def _node_changed(self, _name: Name, old: NodeView | None, new: NodeView | None) -> None:
        node = new or old
        if node:
            self.survey.place_changed(node.pool, node.zone)
        for pod in list(self.pods.items.values()):
            if node and pod.view.node == node.name:
                self.concerned((pod.namespace, pod.job_name))

    def _wake_all(self) -> None:
        for name in list(self.jobs.items):
            self.concerned(name)

    def _parse_platform(self, document: Object) -> Platform | None:
        """What cannot be read leaves what was read last."""
        data, pools, terms = document.get("data") or {}, *self._told
        try:
            pools = parse_pools(data.get(contract.POOLS_KEY, ""))
        except InvalidDocument as error:
            logger.error("%s", error)
        try:
            terms = parse_terms(data.get(contract.TERMS_KEY, ""))
        except InvalidDocument as error:
            logger.error("%s", error)
        return Platform(pools, terms)

    def _parse_prices(self, document: Object) -> Prices | None:
        """Prices that cannot be read are none: the pools' own count then."""
        try:
            return parse_prices((document.get("data") or {}).get(contract.PRICES_KEY, ""))
        except InvalidDocument as error:
            logger.error("%s", error)
            return None
