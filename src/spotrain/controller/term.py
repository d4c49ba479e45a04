"""What the leader does while it leads: mirrors, a keeper for each job, the coordinator.

All of it ends with the term. The next one, here or elsewhere, knows only what the API server has
stored and what the agents say: nothing that a former leader held can come back.
"""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from spotrain import worlds
from spotrain.controller import trust
from spotrain.controller.bearer import Reader, Reviewer
from spotrain.controller.cluster import Cluster
from spotrain.controller.gang import GANG_APIS
from spotrain.controller.job_collector import JobCollector
from spotrain.controller.keeper import Keeper
from spotrain.controller.kube import FAULTS, Kube, KubeError
from spotrain.controller.limits import limits_of
from spotrain.controller.meters import Meters
from spotrain.controller.mirror import Name, backoff
from spotrain.controller.observe import SeenJob
from spotrain.controller.reconcile import OURS
from spotrain.controller.recorder import Recorder
from spotrain.controller.settings import Settings
from spotrain.controller.stored import recorded_number
from spotrain.controller.tokens import Doorkeeper
from spotrain.coordinator.server import Coordinator
from spotrain.job import JobError
from spotrain.kinds import POD_GROUPS, Kind

logger = logging.getLogger(__name__)

AT_A_TIME: Final = 32
"""Jobs that are looked at and worked on at once. More would only wait for each other, and for the
API server's own limits; and the process stays quick to answer agents and to renew its Lease."""
Front = Callable[[Coordinator | None], None]
"""Puts the coordinator behind the port that agents connect to, or takes it away."""


async def find_gang_apis(kube: Kube) -> frozenset[str]:
    """Looked for at the beginning of a term, until there is an answer: a gang scheduler is
    installed once, and without knowing of it pods would be made outside their gang."""
    kinds, pauses = {api: Kind(f"/apis/{api}", POD_GROUPS) for api in GANG_APIS}, backoff()
    while True:
        try:
            return frozenset([api for api, kind in kinds.items() if await kube.serves(kind)])
        except FAULTS as fault:
            if isinstance(fault, KubeError) and fault.status == HTTPStatus.FORBIDDEN:
                logger.warning("no right to look for gang schedulers, so none is used: %r", fault)
                return frozenset()
            pause = next(pauses)
            logger.warning("cannot look for gang schedulers: %r; again in %.1f s", fault, pause)
            await asyncio.sleep(pause)


class Term:
    """Usage: `await Term(kube, ..., leads=leads).run(front)`; cancelled when it is over."""

    def __init__(
        self,
        kube: Kube,
        *,
        settings: Settings,
        authority: str,
        leads: Callable[[], bool],
        meters: Meters,
        node_lost_seconds: float,
    ) -> None:
        self._node_lost_seconds = node_lost_seconds
        self._kube = kube = kube.guarded(leads)
        self._meters = meters
        self.cluster = Cluster(
            settings.namespace,
            self._job_changed,
            self._wake,
            watches_nodes=not settings.is_namespaced,
            max_gpus=settings.max_gpus_per_researcher,
        )
        self._doorkeeper = Doorkeeper(
            kube,
            lambda namespace, name: self.cluster.pods.items.get((namespace, name)),
            Reader(kube) if settings.is_namespaced else Reviewer(kube),
        )
        recorder = Recorder(
            kube,
            find=self.cluster.find_job,
            took=lambda item: self.cluster.jobs.foresee(item),
            raised=self._raise_number,
        )
        self.coordinator = Coordinator(
            record=recorder.record,
            authorize=self._doorkeeper.authorize,
            leads=leads,
            ignored=meters.ignored,
        )
        self.coordinator.watchers += [self._wake_key, self._tell_worlds]
        self._keepers: dict[Name, tuple[Keeper, asyncio.Task[None]]] = {}
        self._turn = asyncio.Semaphore(AT_A_TIME)
        self.publisher = trust.Publisher(kube, authority)

    async def run(self, front: Front) -> None:
        """Never returns; cancelled, it leaves nothing running."""
        with self._meters.observing(
            jobs=JobCollector(self.cluster, self.coordinator),
            waiting=lambda: sum(keeper.is_waiting for keeper, _ in self._keepers.values()),
            connections=lambda: sum(len(job.outboxes) for job in self.coordinator.jobs.values()),
        ):
            try:
                # Before any job is known: keepers begin as soon as their mirrors do.
                self.cluster.gang_apis = await find_gang_apis(self._kube)
                async with asyncio.TaskGroup() as group:
                    for mirror in (*self.cluster.mirrors, *self.cluster.advisers):
                        group.create_task(mirror.follow(self._kube))
                    # An agent of a job that is not known yet would be sent away.
                    await self.cluster.known()
                    front(self.coordinator)
                    logger.info(
                        "leading: serving the agents of %d jobs", len(self.coordinator.jobs)
                    )
            finally:
                front(None)
                self.coordinator.stand_down()
                keepers = [task for _, task in self._keepers.values()]
                for task in keepers:
                    task.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)

    # --- What happens to jobs ---

    def _job_changed(self, old: SeenJob | None, new: SeenJob | None) -> None:
        if old and (new is None or new.uid != old.uid):
            self._end(old)
        if new:
            self._admit(new)
            self._keep((new.namespace, new.name))

    def _admit(self, seen: SeenJob) -> None:
        """Let the job's agents meet. One that has ended needs no new world."""
        job = seen.job
        if isinstance(job, JobError) or job.managed_by not in OURS or job.rdzv_endpoint:
            return
        if seen.status.finished and seen.key not in self.coordinator.jobs:
            return
        self.coordinator.set_job(
            seen.key,
            limits_of(job),
            number=recorded_number(seen.stored),
            restarts=seen.status.restarts.in_place,
        )

    def _keep(self, name: Name) -> None:
        if name not in self._keepers:
            keeper = Keeper(
                name,
                kube=self._kube,
                cluster=self.cluster,
                coordinator=self.coordinator,
                doorkeeper=self._doorkeeper,
                publisher=self.publisher,
                meters=self._meters,
                turn=self._turn,
                node_lost_seconds=self._node_lost_seconds,
            )
            self._keepers[name] = keeper, asyncio.create_task(keeper.run(), name="/".join(name))
        self._wake(name)

    def _end(self, seen: SeenJob) -> None:
        logger.info("%s: deleted", seen.key, extra={"job": seen.key})
        _, task = self._keepers.pop((seen.namespace, seen.name))
        task.cancel()
        self.coordinator.drop_job(seen.key)
        self._doorkeeper.forget(seen.key)
        self._meters.forget(seen.key)

    def _wake(self, name: Name) -> None:
        if name in self._keepers:
            self._keepers[name][0].wake()

    def _wake_key(self, key: str) -> None:
        namespace, name, _ = key.split("/")
        self._wake((namespace, name))

    def _tell_worlds(self, key: str) -> None:
        if report := self.coordinator.report(key):
            self._meters.tell_worlds(key, report.history)

    def _raise_number(self, key: str, number: int) -> None:
        if key in self.coordinator.jobs:
            self.coordinator.jobs[key].dispatch(worlds.FloorFound(number=number))
