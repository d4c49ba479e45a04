"""The local engine: the real reconcile and the real coordinator over a made-up cluster."""

import asyncio
import contextlib
import logging
import secrets
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from spotrain.agent.standalone import expect_token
from spotrain.controller.board import Board
from spotrain.controller.limits import limits_of
from spotrain.controller.model import (
    Action,
    ApplyDisruptionBudget,
    ApplyNetworkPolicy,
    ApplyPodGroup,
    CoordinatorAddress,
    CreatePod,
    DeleteDisruptionBudget,
    DeleteJob,
    DeletePod,
    Event,
    JobStatus,
    Observed,
    RestartWorld,
)
from spotrain.controller.observe import view_world
from spotrain.controller.reconcile import reconcile
from spotrain.coordinator.report import JobReport
from spotrain.coordinator.server import Coordinator
from spotrain.job import ElasticJob, Pool
from spotrain.kinds import Object
from spotrain.local.alongside import alongside
from spotrain.local.job_files import JobFiles
from spotrain.local.keeper import Keeper
from spotrain.local.machines import Machines, Options
from spotrain.local.objects import (
    Remark,
    cluster_objects,
    job_object,
    progress_object,
    remark_of_job,
)
from spotrain.local.story import Happening, tell_of_worlds

logger = logging.getLogger(__name__)
NEW: Final = JobStatus()
REFRESH_SECONDS: Final = 1.0
"""Between two writes of the progress: a file bears more than an API server, and whoever sits before
this machine watches."""
BEAT_SECONDS: Final = 15.0
"""At most between two writes of the status, whose age tells when the job was alive last: what comes
after it counts as a time in which nobody asked the job to run."""
REMARKS: Final = 50
"""Of the controller's, the newest that are kept for whoever explains the job."""


class Engine:
    """One job on made-up machines: use `running`, then interrupt `machines` and look."""

    def __init__(
        self,
        job: ElasticJob,
        pools: Sequence[Pool],
        options: Options,
        status: JobStatus = NEW,
        *,
        created_at: datetime | None = None,
    ) -> None:
        """`status`: of an earlier engine with the same folder, which this one goes on from.
        `created_at`: when the job was made; None: now."""
        self.job = replace(job, uid=job.uid or str(uuid.uuid4()))
        self.created_at = created_at or datetime.now(UTC)
        archive = options.archive or options.folder / "archive"
        self._keeper = Keeper(archive, self.job.name, self.job.uid)
        self.machines = Machines(pools, options, self._tell, self._keeper, self.job.uid)
        self.status = status
        self.events: list[Event] = []
        self.story: list[Happening] = []
        self.remarks: deque[Remark] = deque(maxlen=REMARKS)
        self.watchers: list[Callable[[], None]] = []
        self._pools = tuple(pools)
        self._options = options
        self._files = JobFiles(options.folder)
        self._key = f"{self.job.namespace}/{self.job.name}/{self.job.uid}"
        self._token = secrets.token_urlsafe(32)
        self._coordinator = Coordinator(record=self._record, authorize=expect_token(self._token))
        self._address: CoordinatorAddress | None = None
        self._wake = asyncio.Event()
        self._is_deleted = False
        self._told_world = 0
        self._progress: Object = {}
        """As the ledger has it."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Engine"]:
        """Run the job until the context is left; no process outlives it.

        Raises:
            OSError: the coordinator's port is taken, or the folder cannot be written.
        """
        self._options.folder.mkdir(parents=True, exist_ok=True)
        self._coordinator.watchers.append(lambda _job: self._wake.set())
        async with (
            self._keeper.keeping(last_alive=self._files.last_alive),
            self._coordinator.serving("127.0.0.1", self._options.port) as port,
        ):
            self._address = CoordinatorAddress(
                f"ws://127.0.0.1:{port}", local=True, token=self._token
            )
            self._coordinator.set_job(
                self._key,
                limits_of(self.job),
                number=self._files.read_world_number(),
                restarts=self.status.restarts.in_place,
            )
            try:
                async with alongside(self._loop()):
                    yield self
            finally:
                await self.machines.stop()

    def change(self, job: ElasticJob) -> None:
        """What was asked for has changed: size, limits, suspension."""
        self.job = replace(job, uid=self.job.uid)
        self._coordinator.set_job(self._key, limits_of(self.job))
        self._wake.set()

    def delete(self, job: ElasticJob) -> None:
        """The job, suspended, is to be removed: its workers save and leave. What it would tell of
        a suspension, such as how to go on, is not for one that will be gone."""
        self._is_deleted = True
        self._tell("Deleted: its workers save and leave.")
        self.change(job)

    def abandon(self) -> None:
        """What was kept of the job is gone: nothing more of it is to be written down."""
        self._keeper.abandon()

    def report(self) -> JobReport:
        """What the coordinator knows of the job."""
        report = self._coordinator.report(self._key)
        assert report is not None
        return report

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; looked at after every change."""
        changed = asyncio.Event()
        self.watchers.append(changed.set)
        try:
            while not holds():
                await changed.wait()
                changed.clear()
        finally:
            self.watchers.remove(changed.set)

    # --- The loop: observe, decide, act ---

    async def _loop(self) -> None:
        while True:
            self._wake.clear()
            look_again = self._converge()
            self._tell_of_worlds()
            for watcher in self.watchers:
                watcher()
            delay = BEAT_SECONDS
            if look_again is not None:
                due = (look_again - datetime.now(UTC)).total_seconds()
                delay = min(delay, max(0.05, due))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wake.wait()

    def _converge(self) -> datetime | None:
        now = datetime.now(UTC)
        plan = reconcile(self.job, self._observe(now), now)
        self.status = plan.status
        self._write_status()
        for event in () if self._is_deleted else plan.events:
            self.events.append(event)
            self.remarks.append(remark_of_job(self.job, event, now))
            self._tell(f"{event.reason}: {event.message}")
        for action in plan.actions:
            self._act(action)
        self.machines.schedule()
        self.machines.end_idle_nodes(job_is_over=self.status.finished)
        self._write_objects()
        return plan.requeue_at

    def _observe(self, now: datetime) -> Observed:
        assert self._address is not None
        return Observed(
            pods=tuple(pod.view() for pod in self.machines.pods),
            nodes=tuple(node.view() for node in self.machines.alive),
            pools=self._pools,
            world=view_world(self.report(), clock=self._coordinator.clock(), now=now),
            status=self.status,
            coordinator=self._address,
            board=Board(since=self.created_at),
            refresh_seconds=REFRESH_SECONDS,
        )

    def _act(self, action: Action) -> None:
        match action:
            case CreatePod(name=name, index=index, manifest=manifest):
                self.machines.create_pod(name, index, manifest)
                self._wake.set()
            case DeletePod(uid=uid, grace_seconds=grace_seconds):
                for pod in [pod for pod in self.machines.pods if pod.uid == uid]:
                    self.machines.delete_pod(pod, grace_seconds=grace_seconds)
                self._wake.set()
            case RestartWorld(number=number, message=message):
                self._coordinator.stall(self._key, number, message)
            case ApplyNetworkPolicy() | ApplyDisruptionBudget() | DeleteDisruptionBudget():
                pass  # loopback has no network policies, and nobody evicts pods here
            case ApplyPodGroup():
                pass  # no gang scheduler either
            case DeleteJob():
                pass  # one engine runs one job

    # --- Records ---

    async def _record(self, _job: str, number: int) -> None:
        self._files.write_world_number(number)

    def _write_status(self) -> None:
        status = self.status.to_document()
        report, now = self.report(), datetime.now(UTC)
        self._progress = progress_object(self._progress, report.step, report.metrics, now)
        told = {**status, "progress": self._progress or status.get("progress")}
        self._keeper.see_job(job_object(self.job, self.created_at, told))
        self._files.write_status(status)

    def _write_objects(self) -> None:
        machines = self.machines
        remarks = (*self.remarks, *machines.remarks.values())
        self._files.write_objects(cluster_objects(machines.pods, machines.alive, remarks))

    def _tell(self, text: str) -> None:
        logger.info("%s", text)
        self.story.append(Happening(time.monotonic(), text))
        self._wake.set()

    def _tell_of_worlds(self) -> None:
        for number, line in tell_of_worlds(self.report().history, told=self._told_world):
            self._tell(line)
            self._told_world = number
