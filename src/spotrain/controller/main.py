"""The process in the cluster: mirrors, a keeper for each job, the coordinator, and the probes."""

import asyncio
import contextlib
import logging
import os
import signal
import ssl
import sys
from collections.abc import Coroutine
from typing import Any, Final

from lightkube.core.exceptions import ConfigError

from spotrain import worlds
from spotrain.controller import trust
from spotrain.controller.cluster import Cluster
from spotrain.controller.job_collector import JobCollector
from spotrain.controller.keeper import Keeper
from spotrain.controller.kube import FAULTS, Kube, connected
from spotrain.controller.limits import limits_of
from spotrain.controller.meters import Meters
from spotrain.controller.mirror import Name
from spotrain.controller.observe import SeenJob
from spotrain.controller.probes import answering
from spotrain.controller.reconcile import OURS
from spotrain.controller.recorder import Recorder
from spotrain.controller.settings import Settings, SettingsError
from spotrain.controller.stored import recorded_number
from spotrain.controller.tokens import Doorkeeper
from spotrain.coordinator.server import Coordinator
from spotrain.job import JobError

logger = logging.getLogger(__name__)

RENEWAL_CHECK_SECONDS: Final = 3600.0
EVERYWHERE: Final = "0.0.0.0"


class Controller:
    """Wires the parts together. Usage: `await Controller(kube, settings, meters).run()`."""

    def __init__(self, kube: Kube, settings: Settings, meters: Meters) -> None:
        self._kube = kube
        self._settings = settings
        self._meters = meters
        self.cluster = Cluster(settings.namespace, self._job_changed, self._wake)
        self._doorkeeper = Doorkeeper(
            kube, lambda namespace, name: self.cluster.pods.items.get((namespace, name))
        )
        recorder = Recorder(
            kube,
            find=self.cluster.find_job,
            took=lambda item: self.cluster.jobs.take(item),
            raised=self._raise_number,
        )
        self.coordinator = Coordinator(record=recorder.record, authorize=self._doorkeeper.authorize)
        self.coordinator.watchers += [self._wake_key, self._tell_worlds]
        self._keepers: dict[Name, tuple[Keeper, asyncio.Task[None]]] = {}
        meters.observe(
            jobs=JobCollector(self.cluster, self.coordinator),
            waiting=lambda: sum(keeper.is_waiting for keeper, _ in self._keepers.values()),
            connections=lambda: sum(len(job.sends) for job in self.coordinator.jobs.values()),
        )
        self._publisher = trust.Publisher(kube, "")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._is_serving = False

    async def run(self) -> None:
        """Never returns. Raises KubeError, OSError where it cannot even begin."""
        port = self._settings.probe_port
        async with answering(EVERYWHERE, port, lambda: self._is_serving, self._meters.page):
            await self._load_credentials()
            async with asyncio.TaskGroup() as group:
                for mirror in self.cluster.mirrors:
                    group.create_task(mirror.follow(self._kube))
                # An agent of a job that is not known yet would be refused, which ends it.
                await self.cluster.known()
                group.create_task(self._serve())
                group.create_task(self._renew_credentials())

    async def _serve(self) -> None:
        port = self._settings.coordinator_port
        async with self.coordinator.serving(EVERYWHERE, port, tls=self._tls):
            self._is_serving = True
            where = self._settings.namespace or "every namespace"
            logger.info("serving agents on port %d, jobs of %s", port, where)
            await asyncio.Event().wait()

    async def _load_credentials(self) -> None:
        credentials = await trust.keep_credentials(self._kube)
        trust.load(self._tls, credentials)
        self._publisher.set_authority(credentials.authority)

    async def _renew_credentials(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            try:
                await self._load_credentials()
            except FAULTS as fault:
                logger.warning("cannot check the coordinator's certificate: %r", fault)

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
        self.coordinator.set_job(seen.key, limits_of(job), number=recorded_number(seen.stored))

    def _keep(self, name: Name) -> None:
        if name not in self._keepers:
            keeper = Keeper(
                name,
                kube=self._kube,
                cluster=self.cluster,
                coordinator=self.coordinator,
                doorkeeper=self._doorkeeper,
                publisher=self._publisher,
                meters=self._meters,
            )
            self._keepers[name] = keeper, asyncio.create_task(keeper.run(), name="/".join(name))
        self._wake(name)

    def _end(self, seen: SeenJob) -> None:
        logger.info("%s: deleted", seen.key)
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


async def run(settings: Settings) -> None:
    """Until SIGTERM or SIGINT."""
    meters = Meters()
    async with connected(meters.asked) as kube:
        await _until_signal(Controller(kube, settings, meters).run())


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main() -> int:
    try:
        settings = Settings.read(os.environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    logging.basicConfig(
        level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for talkative in ("httpx2", "websockets"):  # a line for each request and each connection
        logging.getLogger(talkative).setLevel(logging.WARNING)
    try:
        asyncio.run(run(settings))
    except ConfigError as error:
        print(f"no cluster to work for: {error}; run in a pod or set KUBECONFIG.", file=sys.stderr)
        return 2
    return 0
