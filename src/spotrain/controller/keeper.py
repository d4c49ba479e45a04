"""Keeping one job as it should be: look, decide, act, and wait for the next reason to look."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from spotrain.controller.actions import Teller, carry_out, create_pod, write_status
from spotrain.controller.cluster import Cluster
from spotrain.controller.kube import FAULTS, Conflict, Kube, KubeError
from spotrain.controller.meters import Meters
from spotrain.controller.mirror import Name, backoff
from spotrain.controller.model import (
    Action,
    ApplyNetworkPolicy,
    CreatePod,
    Observed,
    Plan,
    PodView,
    RestartWorld,
    WorldView,
)
from spotrain.controller.observe import SeenJob, view_world
from spotrain.controller.reconcile import reconcile
from spotrain.controller.refusal import refuse
from spotrain.controller.tokens import Doorkeeper
from spotrain.controller.trust import Publisher
from spotrain.coordinator.report import JobReport
from spotrain.coordinator.server import Coordinator
from spotrain.job import JobError

logger = logging.getLogger(__name__)

RESYNC_SECONDS: Final = 60.0
"""A job is looked at so often though nothing was reported: whatever was missed is found then."""
PROTECT_SECONDS: Final = 600.0
"""A network policy that was changed by others is ours again at the first new pod after this."""
REFUSALS: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
"""Answers that do not pass by themselves: quotas, policies, and what is wrong with the pod."""


class Keeper:
    """One job's loop. There is one for each, so a job is never reconciled twice at a time."""

    def __init__(
        self,
        name: Name,
        *,
        kube: Kube,
        cluster: Cluster,
        coordinator: Coordinator,
        doorkeeper: Doorkeeper,
        publisher: Publisher,
        meters: Meters,
        turn: asyncio.Semaphore,
        node_lost_seconds: float,
    ) -> None:
        self._node_lost_seconds = node_lost_seconds
        self._name = name
        self._kube = kube
        self._cluster = cluster
        self._coordinator = coordinator
        self._doorkeeper = doorkeeper
        self._publisher = publisher
        self._meters = meters
        self._turn = turn
        self._teller = Teller(kube)
        self._refusal = ""
        """Why the API server took no new pod when it was last asked; empty: it did."""
        self._protected: tuple[Mapping[str, Any] | None, datetime] = (
            None,
            datetime.min.replace(tzinfo=UTC),
        )
        """The network policy as last applied, and when."""
        self._awake = asyncio.Event()
        self._living: dict[str, str] = {}
        """Name -> uid of the pods that lived at the last look."""

    def wake(self) -> None:
        self._awake.set()

    @property
    def is_waiting(self) -> bool:
        """Is there a reason to look that has not been followed yet?"""
        return self._awake.is_set()

    async def run(self) -> None:
        """Never returns. No fault of one job may end the others' process."""
        await self._cluster.known()
        pauses, name = backoff(), "/".join(self._name)
        extra = {"job": name}
        while True:
            self._awake.clear()
            try:
                async with self._turn:
                    with self._meters.looking():
                        delay = await self._look()
                pauses = backoff()
            except Conflict as conflict:
                delay = next(pauses)
                logger.debug("%s: again in %.1f s: %s", name, delay, conflict, extra=extra)
            except FAULTS as fault:
                delay = next(pauses)
                logger.warning("%s: %r; again in %.1f s", name, fault, delay, extra=extra)
            except Exception:
                delay = next(pauses)
                logger.exception("%s: again in %.1f s", name, delay, extra=extra)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._awake.wait()

    async def _look(self) -> float:
        """Observe, decide, act; returns the seconds after which to look again."""
        seen = self._cluster.jobs.items.get(self._name)
        if seen is None:
            return RESYNC_SECONDS
        pods = self._cluster.pods_of(seen)
        self._report_losses(seen, pods)
        now = datetime.now(UTC)
        plan = self._decide(seen, pods, now)
        if not seen.stored and creates(plan) and only_adds(plan.actions):
            plan = await self._begin(seen, plan, now)
        if seen.stored and only_adds(plan.actions):
            await _together(self._act(seen, plan, now), self._record(seen, plan, now))
        else:
            await self._record(seen, plan, now)
            await self._act(seen, plan, now)
        if not creates(plan):
            self._refusal = ""
        if seen.key in self._coordinator.jobs:  # pods that run follow a new authority too
            await self._publisher.publish(seen.namespace, now)
        if plan.requeue_at is None:
            return RESYNC_SECONDS
        return min(RESYNC_SECONDS, max(0.05, (plan.requeue_at - now).total_seconds()))

    async def _begin(self, seen: SeenJob, plan: Plan, now: datetime) -> Plan:
        """The pods of a new job come before its first status, which then tells of them: that is one
        write instead of two. Returns what is left to do.

        A death in between loses nothing: nothing was counted yet, a world's number is recorded by
        itself before it trains, and the place that was chosen stands in the pods.
        """
        self._cluster.survey.expect(seen, plan.status)
        try:
            await self._act(seen, plan, now)
        except Exception:
            await self._record(seen, plan, now)  # the job must not stay without a word
            raise
        return self._decide(seen, self._cluster.pods_of(seen), now)

    async def _record(self, seen: SeenJob, plan: Plan, now: datetime) -> None:
        if plan.status != seen.status:
            self._cluster.jobs.foresee(await write_status(self._kube, seen, plan.status))
        for event in plan.events:
            await self._teller.tell(seen, event, now)

    async def _act(self, seen: SeenJob, plan: Plan, now: datetime) -> None:
        for action in plan.actions:
            if isinstance(action, RestartWorld):
                self._coordinator.stall(seen.key, action.number, action.message)
            elif isinstance(action, ApplyNetworkPolicy):
                await self._protect(seen, action, now)
            elif isinstance(action, CreatePod):  # it could not start without the authority
                await self._publisher.publish(seen.namespace, now)
                await self._create(seen, action)
            else:
                await carry_out(self._kube, seen, action)

    async def _protect(self, seen: SeenJob, action: ApplyNetworkPolicy, now: datetime) -> None:
        """Before the first pod, when it changes, and once in a while, should others change it: a
        replacement must not wait for what is there already."""
        manifest, at = self._protected
        if manifest == action.manifest and (now - at).total_seconds() < PROTECT_SECONDS:
            return
        await carry_out(self._kube, seen, action)
        self._protected = action.manifest, now

    async def _create(self, seen: SeenJob, action: CreatePod) -> None:
        """A refusal is kept for the next look, which tells it to people and tries again."""
        try:
            self._cluster.pods.foresee(await create_pod(self._kube, seen, action))
        except KubeError as error:
            if error.status in REFUSALS:
                self._refusal = error.message
            raise
        self._refusal = ""

    def _decide(self, seen: SeenJob, pods: tuple[PodView, ...], now: datetime) -> Plan:
        if isinstance(seen.job, JobError):
            return refuse(seen.job, seen.status, generation=seen.generation, now=now)
        report = self._coordinator.report(seen.key)
        observed = Observed(
            pods=pods,
            nodes=tuple(self._cluster.nodes.items.values()),
            pools=self._cluster.offered_pools,
            world=self._world(report),
            status=seen.status,
            disruption_budget=self._cluster.budget_of(seen),
            gang_apis=self._cluster.gang_apis,
            node_lost_seconds=self._node_lost_seconds,
            board=self._cluster.board(seen, self._refusal),
        )
        return reconcile(seen.job, observed, now)

    def _world(self, report: JobReport | None) -> WorldView | None:
        """Both clocks are read at once, lest all times of the world be late by the difference."""
        clock, now = self._coordinator.clock(), datetime.now(UTC)
        return view_world(report, clock=clock, now=now) if report else None

    def _report_losses(self, seen: SeenJob, pods: tuple[PodView, ...]) -> None:
        """Tell the coordinator of members whose pod is gone or has ended.

        A replacement has the same name, so the word is for the pod that joined, by its uid.
        """
        living = {pod.name: pod.uid for pod in pods if pod.phase in ("Pending", "Running")}
        for name, uid in self._living.items():
            if living.get(name) != uid and self._doorkeeper.admitted(seen.key, name) == uid:
                self._coordinator.lose(seen.key, name)
        self._living = living


def creates(plan: Plan) -> bool:
    return any(isinstance(action, CreatePod) for action in plan.actions)


def only_adds(actions: Sequence[Action]) -> bool:
    """Nothing is taken away that the status must tell of first: a replacement need not wait for
    the word that one is missing."""
    return all(isinstance(action, CreatePod | ApplyNetworkPolicy) for action in actions)


async def _together(*works: Awaitable[None]) -> None:
    """All to their end, then the first one's fault, if any: none is cut off half-way. Requests
    leave in this order."""
    for outcome in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
