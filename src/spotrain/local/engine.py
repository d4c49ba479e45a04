"""The local engine: the real reconcile and the real coordinator over a made-up cluster."""

import asyncio
import contextlib
import itertools
import json
import logging
import os
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spotrain.agent.standalone import expect_token
from spotrain.controller.limits import limits_of
from spotrain.controller.model import (
    Action,
    ApplyNetworkPolicy,
    CoordinatorAddress,
    CreatePod,
    DeleteJob,
    DeletePod,
    Event,
    JobStatus,
    Observed,
    WorldView,
)
from spotrain.controller.reconcile import reconcile
from spotrain.coordinator.job import JobReport
from spotrain.coordinator.server import Coordinator
from spotrain.job import ElasticJob, Pool
from spotrain.local.cluster import Group, Node, Pod, find_group, find_node
from spotrain.local.image import Image, plan_launch
from spotrain.local.process import PodProcess

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a job is run on this machine."""

    folder: Path
    """For logs, the status and the world number."""
    image: Image
    volumes: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    boot_seconds: float = 0.5
    """From the autoscaler's request to a node that takes pods."""
    capacity: int = 64
    """Machines that can be had per group at first."""
    port: int = 0
    """Of the coordinator; 0 takes a free one."""


@dataclass(frozen=True)
class Happening:
    """One line of the story, for whoever shows it."""

    at: float
    text: str


class Engine:
    """One job on made-up nodes. Use `running`; then take nodes away, give them back, look."""

    def __init__(self, job: ElasticJob, pools: Sequence[Pool], options: Options) -> None:
        self.job = replace(job, uid=job.uid or str(uuid.uuid4()))
        self.options = options
        self.groups = [Group(pool, zone, options.capacity) for pool in pools for zone in pool.zones]
        self.pools = tuple(pools)
        self.nodes: list[Node] = []
        self.pods: list[Pod] = []
        self.status = JobStatus()
        self.events: list[Event] = []
        self.story: list[Happening] = []
        self.watchers: list[Callable[[], None]] = []
        self.key = f"{self.job.namespace}/{self.job.name}/{self.job.uid}"
        self._token = secrets.token_urlsafe(32)
        self.coordinator = Coordinator(record=self._record, authorize=expect_token(self._token))
        self._processes: dict[str, PodProcess] = {}
        self._wake = asyncio.Event()
        self._told_worlds = 0
        self._counter = itertools.count(1)
        self._booting: dict[str, asyncio.TimerHandle] = {}
        self._address: CoordinatorAddress | None = None

    # --- Looking ---

    @staticmethod
    def now() -> float:
        return time.monotonic()

    def report(self) -> JobReport:
        report = self.coordinator.report(self.key)
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

    # --- Making things happen ---

    def set_capacity(self, machines: int) -> None:
        """How many machines can be had per group from now on; nobody loses one by it."""
        self.groups = [replace(group, capacity=machines) for group in self.groups]
        self._tell(f"machines to be had: {machines} in each zone")
        self._touch()

    def reclaim(self, node: Node) -> None:
        """A spot interruption: the node is drained, and gone when the notice is over."""
        seconds = node.pool.notice_seconds
        node.cordoned = True
        self._tell(f"{node.name}: spot interruption, {seconds} s of notice")
        for pod in self._pods_on(node):
            pod.disrupted = True
            self._delete(pod, grace_seconds=min(seconds, self._grace(pod)))
        asyncio.get_running_loop().call_later(seconds, self._end_node, node)
        self._touch()

    def destroy(self, node: Node) -> None:
        """The machine is gone without a word; its processes are killed."""
        self._tell(f"{node.name}: gone without notice (SIGKILL)")
        for pod in self._pods_on(node):
            pod.disrupted = True
            self._processes[pod.uid].kill()
        self._end_node(node)

    # --- The loop ---

    async def _loop(self) -> None:
        while True:
            self._wake.clear()
            requeue_at = self._converge()
            self._tell_of_worlds()
            for watcher in self.watchers:
                watcher()
            delay = None
            if requeue_at is not None:
                delay = max(0.05, (requeue_at - datetime.now(UTC)).total_seconds())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wake.wait()

    def _converge(self) -> datetime | None:
        """Observe, decide, act; returns when to look again."""
        now = datetime.now(UTC)
        self.coordinator.set_job(self.key, limits_of(self.job))
        plan = reconcile(self.job, self._observe(now), now)
        self.status = plan.status
        self._write_status()
        for event in plan.events:
            self.events.append(event)
            self._tell(f"{event.reason}: {event.message}")
        for action in plan.actions:
            self._act(action)
        self._schedule()
        self._end_idle_nodes()
        return plan.requeue_at

    def _observe(self, now: datetime) -> Observed:
        assert self._address is not None
        return Observed(
            pods=tuple(pod.view() for pod in self.pods),
            nodes=tuple(node.view() for node in self.nodes if node.ended_at is None),
            pools=self.pools,
            world=self._view_world(now),
            status=self.status,
            coordinator=self._address,
        )

    def _view_world(self, now: datetime) -> WorldView:
        report = self.report()
        age = timedelta(seconds=self.coordinator.clock() - report.since)
        outcomes = {"succeeded": "succeeded", "failed": "failed"}
        return WorldView(
            number=report.number,
            size=report.size,
            phase=str(report.phase),
            since=now - age,
            step=report.step,
            outcome=outcomes.get(report.outcome),  # type: ignore[arg-type]
            message=report.message,
            restarts=report.restarts,
        )

    def _act(self, action: Action) -> None:
        match action:
            case CreatePod(name=name, index=index, manifest=manifest):
                if any(pod.name == name for pod in self.pods):
                    return
                created = datetime.now(UTC)
                pod = Pod(name, str(uuid.uuid4()), index, manifest, created)
                self.pods.append(pod)
                self._touch()
            case DeletePod(uid=uid, grace_seconds=grace_seconds):
                for pod in self.pods:
                    if pod.uid == uid:
                        self._delete(pod, grace_seconds=grace_seconds)
            case ApplyNetworkPolicy() | DeleteJob():
                pass  # loopback has no network policies; one engine runs one job

    def _delete(self, pod: Pod, *, grace_seconds: float | None) -> None:
        process = self._processes.get(pod.uid)
        if pod.is_over or process is None:
            self.pods.remove(pod)
            self._touch()
        elif not pod.deleting:
            pod.deleting = True
            process.terminate(self._grace(pod) if grace_seconds is None else grace_seconds)

    @staticmethod
    def _grace(pod: Pod) -> int:
        return int(pod.manifest["spec"].get("terminationGracePeriodSeconds", 30))

    # --- Nodes and processes ---

    def _schedule(self) -> None:
        for pod in self.pods:
            if pod.node is not None or pod.deleting or pod.is_over:
                continue
            node = find_node(pod, self.nodes, self.pods)
            if node is not None:
                self._start(pod, node)
            elif pod.uid not in self._booting:
                self._ask_for_node(pod)

    def _ask_for_node(self, pod: Pod) -> None:
        pending = [handle for handle in self._booting.values() if not handle.cancelled()]
        group = find_group(pod, self.groups, self.nodes)
        if group is None:
            return
        living = [n for n in self.nodes if n.ended_at is None and n.zone == group.zone]
        if len(living) + len(pending) >= group.capacity:
            return
        loop = asyncio.get_running_loop()
        boot = loop.call_later(self.options.boot_seconds, self._boot, pod.uid, group)
        self._booting[pod.uid] = boot

    def _boot(self, pod_uid: str, group: Group) -> None:
        self._booting.pop(pod_uid, None)
        number = next(self._counter)
        node = Node(f"node-{number}", group.pool, group.zone, started_at=self.now())
        self.nodes.append(node)
        self._tell(f"{node.name}: booted ({group.pool.name}, {group.zone})")
        self._touch()

    def _start(self, pod: Pod, node: Node) -> None:
        pod.node, pod.phase = node, "Running"
        fields = {
            "metadata.name": pod.name,
            "metadata.namespace": self.job.namespace,
            "metadata.uid": pod.uid,
            "spec.nodeName": node.name,
            "status.podIP": "127.0.0.1",
        }
        launch = plan_launch(
            pod.manifest,
            image=self.options.image,
            volumes=self.options.volumes,
            fields=fields,
            extra=self.options.environment,
        )
        log = self.options.folder / "logs" / f"{pod.name}-{pod.uid[:8]}.log"
        process = PodProcess(launch, log, lambda code: self._ended(pod, code))
        self._processes[pod.uid] = process
        self._tell(f"{pod.name}: started on {node.name}")
        process.start()
        self._touch()

    def _ended(self, pod: Pod, code: int) -> None:
        pod.exit_code = code
        pod.phase = "Succeeded" if code == 0 else "Failed"
        self._tell(f"{pod.name}: ended with exit code {code}")
        if pod.deleting and pod in self.pods:
            self.pods.remove(pod)
        self._touch()

    def _pods_on(self, node: Node) -> list[Pod]:
        return [pod for pod in self.pods if pod.node is node and not pod.is_over]

    def _end_node(self, node: Node) -> None:
        if node.ended_at is None:
            node.ended_at = self.now()
            for pod in self._pods_on(node):
                self._processes[pod.uid].kill()
            self._touch()

    def _end_idle_nodes(self) -> None:
        """A drained node goes when it is empty; when the job is over, all of them do."""
        for node in self.nodes:
            over = self.status.finished or node.cordoned
            if node.ended_at is None and over and not self._pods_on(node):
                self._end_node(node)

    # --- Records ---

    async def _record(self, _job: str, number: int) -> None:
        _replace_file(self.options.folder / "world-number", f"{number}\n")

    def _write_status(self) -> None:
        document = json.dumps(self.status.to_document(), indent=2)
        _replace_file(self.options.folder / "status.json", document + "\n")

    def _tell(self, text: str) -> None:
        logger.info("%s", text)
        self.story.append(Happening(self.now(), text))

    def _tell_of_worlds(self) -> None:
        """Once a world trains: how it differs from the one before, and what the change cost."""
        worlds = self.report().history
        while self._told_worlds < len(worlds) and worlds[self._told_worlds].first_step is not None:
            world, before = worlds[self._told_worlds], worlds[: self._told_worlds]
            cost = ""
            if before and before[-1].pause_seconds is not None:
                last = before[-1]
                cost = f" after a pause of {last.pause_seconds:.2f} s, {last.steps_lost} steps lost"
            self._tell(f"world {world.number}: {world.size} workers train{cost}")
            self._told_worlds += 1

    def _touch(self) -> None:
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Engine"]:
        """Run the job until the context is left; no process outlives it.

        Raises:
            OSError: the coordinator's port is taken.
        """
        self.options.folder.mkdir(parents=True, exist_ok=True)
        self.coordinator.watchers.append(lambda _job: self._touch())
        async with self.coordinator.serving("127.0.0.1", self.options.port) as port:
            self._address = CoordinatorAddress(
                f"ws://127.0.0.1:{port}", local=True, token=self._token
            )
            self.coordinator.set_job(self.key, limits_of(self.job))
            try:
                async with _alongside(self._loop()):
                    yield self
            finally:
                await self._stop()

    async def _stop(self) -> None:
        for handle in self._booting.values():
            handle.cancel()
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            await process.wait()
        for node in self.nodes:
            self._end_node(node)


def _replace_file(path: Path, text: str) -> None:
    """Write beside and rename: a reader sees the old file or the new one."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)


@asynccontextmanager
async def _alongside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` beside the body, until the body ends; a fault of either ends both."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            yield
            task.cancel()
    except* Exception as faults:
        raise faults.exceptions[0] from None
