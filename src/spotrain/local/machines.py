"""The machines of a made-up cluster: nodes that boot and vanish, and the processes on them."""

import asyncio
import itertools
import shutil
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from spotrain import contract
from spotrain.job import Pool
from spotrain.ledger.attribution import IDLE_MINUTES
from spotrain.local.cluster import Group, Node, Pod, find_group, find_node, refusal
from spotrain.local.image import Image, plan_launch
from spotrain.local.interruptions import Manner
from spotrain.local.keeper import Keeper
from spotrain.local.objects import Remark, remark_of_pod
from spotrain.local.process import PodProcess
from spotrain.local.process_output import PipedOutput


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a job is run on this machine."""

    folder: Path
    """For the status, and a record of the world number."""
    image: Image
    archive: Path | None = None
    """For ledger and logs, in the layout of a cluster's archive; None: below `folder`."""
    volumes: Mapping[str, Path] = field(default_factory=dict)
    """Volume claim -> folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    boot_seconds: float = 0.5
    """From the autoscaler's request to a node that takes pods."""
    idle_seconds: float = IDLE_MINUTES * 60
    """For which a node has no pod before the autoscaler takes it away."""
    capacity: int = 64
    """Machines that can be had per group at first."""
    port: int = 0
    """Of the coordinator; 0 takes a free one."""


class Machines:
    """Scheduler, autoscaler and kubelet in one. `tell` hears of everything that happens, and
    `keeper` writes down nodes and output."""

    def __init__(
        self,
        pools: Sequence[Pool],
        options: Options,
        tell: Callable[[str], None],
        keeper: Keeper,
        job_uid: str,
    ) -> None:
        self.groups = [Group(pool, zone, options.capacity) for pool in pools for zone in pool.zones]
        self.nodes: list[Node] = []
        self.pods: list[Pod] = []
        self.remarks: dict[str, Remark] = {}
        """Uid of a pod -> what the autoscaler has said of it last."""
        self._options = options
        self._tell = tell
        self._keeper = keeper
        self._job_uid = job_uid
        self._processes: dict[str, PodProcess] = {}
        self._booting: dict[str, tuple[Group, asyncio.TimerHandle]] = {}
        self._counter = itertools.count(1)
        self._scratch = options.folder.resolve() / "tmp"
        """What a killed process leaves in its temporary folder goes with the engine."""

    @property
    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.ended_at is None]

    @property
    def processes(self) -> Sequence[PodProcess]:
        return tuple(self._processes.values())

    def pods_on(self, node: Node) -> list[Pod]:
        return [pod for pod in self.pods if pod.node is node and not pod.is_over]

    # --- What the market does ---

    def set_capacity(self, machines: int) -> None:
        """How many machines can be had per group from now on; nobody loses one by it."""
        self.groups = [replace(group, capacity=machines) for group in self.groups]
        self._tell(f"machines to be had: {machines} in each zone")

    def reclaim(self, node: Node) -> None:
        """A spot interruption: the node is drained, and gone when the notice is over."""
        seconds = node.pool.notice_seconds
        node.cordoned = True
        self._tell(f"{node.name}: spot interruption, {seconds} s of notice")
        for pod in self.pods_on(node):
            pod.disrupted = True
            self.delete_pod(pod, grace_seconds=min(seconds, _grace(pod)))
        asyncio.get_running_loop().call_later(seconds, self.end_node, node)

    def destroy(self, node: Node) -> None:
        """The machine is gone without a word; its processes are killed."""
        self._tell(f"{node.name}: gone without notice (SIGKILL)")
        for pod in self.pods_on(node):
            pod.disrupted = True
        self.end_node(node)

    def interrupt(self, manner: Manner, uid: str) -> None:
        """Take away a pod that runs; one that does not is left to what has come before."""
        for pod in [pod for pod in self.pods if pod.uid == uid and pod.phase == "Running"]:
            assert pod.node
            match manner:
                case Manner.NOTICE:
                    self._tell(f"{pod.name}: evicted, {_grace(pod)} s of notice")
                    pod.disrupted = True
                    self.delete_pod(pod, grace_seconds=None)
                case Manner.KILL:
                    self._tell(f"{pod.name}: gone without notice (SIGKILL)")
                    pod.disrupted = True
                    self._processes[pod.uid].kill()
                case Manner.NODE:
                    self.reclaim(pod.node)

    def end_node(self, node: Node) -> None:
        if node.ended_at is None:
            node.ended_at, node.gone_at = time.monotonic(), datetime.now(UTC)
            self._keeper.see_node(node.entry())
            for pod in self.pods_on(node):
                self._processes[pod.uid].kill()

    def end_idle_nodes(self, *, job_is_over: bool) -> None:
        """A drained node goes when it is empty, and when the job is over all of them do; any other
        waits for the next pod as long as the autoscaler lets it."""
        for node in self.alive:
            if self.pods_on(node):
                node.idle_since = None
            elif job_is_over or node.cordoned:
                self.end_node(node)
            elif node.idle_since is None:
                node.idle_since = time.monotonic()
                loop, seconds = asyncio.get_running_loop(), self._options.idle_seconds
                loop.call_later(seconds, self._end_if_idle, node, node.idle_since)

    def _end_if_idle(self, node: Node, since: float) -> None:
        """`since`: it was idle then; it may have had a pod meanwhile."""
        if node.ended_at is None and node.idle_since == since and not self.pods_on(node):
            self._tell(f"{node.name}: idle for {self._options.idle_seconds / 60:g} min, gone")
            self.end_node(node)

    # --- Pods ---

    def create_pod(self, name: str, index: int, manifest: Mapping[str, Any]) -> None:
        """A pod of that name that is there already is no error: the next look decides again."""
        if all(pod.name != name for pod in self.pods):
            pod = Pod(name, str(uuid.uuid4()), index, manifest, datetime.now(UTC))
            self.pods.append(pod)

    def delete_pod(self, pod: Pod, *, grace_seconds: float | None) -> None:
        process = self._processes.get(pod.uid)
        if pod.is_over or process is None:
            self.pods.remove(pod)
        elif not pod.deleting:
            seconds = _grace(pod) if grace_seconds is None else grace_seconds
            pod.delete_by = datetime.now(UTC) + timedelta(seconds=seconds)
            process.terminate(seconds)

    def schedule(self) -> None:
        """Start what fits on a node; ask for a node for what does not."""
        for pod in self.pods:
            if pod.node is not None or pod.deleting or pod.is_over:
                continue
            node = find_node(pod, self.nodes, self.pods)
            if node is not None:
                self._start(pod, node)
            elif pod.uid not in self._booting:
                self._ask_for_node(pod)

    def _ask_for_node(self, pod: Pod) -> None:
        booting = [group for group, _ in self._booting.values()]
        group = find_group(pod, self.groups, self.nodes, booting)
        if group is not None:
            loop = asyncio.get_running_loop()
            boot = loop.call_later(self._options.boot_seconds, self._boot, pod.uid, group)
            self._booting[pod.uid] = group, boot
        said, before = (
            remark_of_pod(pod, group, refusal(pod, self.groups)),
            self.remarks.get(pod.uid),
        )
        # That there is still no node is no news; each turn would else write all objects anew.
        if group is not None or before is None or replace(before, at=said.at) != said:
            self.remarks[pod.uid] = said

    def _boot(self, pod_uid: str, group: Group) -> None:
        self._booting.pop(pod_uid)
        name = f"node-{next(self._counter)}"
        born, now = time.monotonic(), datetime.now(UTC)
        uid = f"{self._job_uid}-{uuid.uuid4().hex[:8]}"
        node = Node(name, group.pool, group.zone, started_at=born, uid=uid, created_at=now)
        self.nodes.append(node)
        self._keeper.see_node(node.entry())
        self._tell(f"{name}: booted ({group.pool.name}, {group.zone})")

    def _start(self, pod: Pod, node: Node) -> None:
        self._scratch.mkdir(parents=True, exist_ok=True)
        fields = {
            "metadata.name": pod.name,
            "metadata.namespace": pod.manifest["metadata"]["namespace"],
            "metadata.uid": pod.uid,
            "spec.nodeName": node.name,
            "status.podIP": "127.0.0.1",
        }
        launch = plan_launch(
            pod.manifest,
            image=self._options.image,
            volumes=self._options.volumes,
            fields=fields,
            extra={"TMPDIR": str(self._scratch), **self._options.environment},
        )
        process = PodProcess(
            launch,
            PipedOutput(partial(self._keeper.take, pod.index, pod.name, pod.uid)),
            started=lambda: self._started(pod, node),
            ended=lambda code: self._ended(pod, code),
        )
        self._processes[pod.uid] = process
        pod.node = node
        pod.scheduled_at = datetime.now(UTC)
        process.start()

    def _started(self, pod: Pod, node: Node) -> None:
        pod.phase = "Running"
        pod.started_at = datetime.now(UTC)
        self._tell(f"{pod.name}: started on {node.name}")

    def _ended(self, pod: Pod, code: int) -> None:
        pod.exit_code = code
        pod.ended_at = datetime.now(UTC)
        pod.phase = "Succeeded" if code == 0 else "Failed"
        if pod.deleting and pod in self.pods:
            self.pods.remove(pod)
        self._tell(f"{pod.name}: ended with exit code {code}")

    async def stop(self) -> None:
        """End everything; returns when the last process is gone."""
        for _, handle in self._booting.values():
            handle.cancel()
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            await process.wait()
        for node in self.nodes:
            self.end_node(node)
        shutil.rmtree(self._scratch, ignore_errors=True)


def _grace(pod: Pod) -> int:
    spec = pod.manifest["spec"]
    return int(spec.get("terminationGracePeriodSeconds", contract.DEFAULT_GRACE_SECONDS))
