"""One made-up node: its place in the cluster, its signs of life, and the pods on it."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from spotrain.controller.kube import FAULTS, Conflict, Kube, NotFound
from spotrain.kinds import LEASES, NODES
from spotrain.local.kubelet.node import (
    LEASE_NAMESPACE,
    NodeSpec,
    build_lease,
    build_node,
    build_node_status,
)
from spotrain.local.kubelet.options import Options
from spotrain.local.kubelet.pod import PodRun, lost_track
from spotrain.local.kubelet.reporter import Reporter

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]


@dataclass
class Resident:
    """A pod on the node."""

    run: PodRun
    reporter: Reporter
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the pod is deleted."""
    grace_seconds: float = math.inf
    """Of its deletion."""
    task: asyncio.Task[None] | None = None

    def leave(self, grace_seconds: float) -> None:
        """A second deletion may only shorten the first one's grace period."""
        if grace_seconds < self.grace_seconds:
            self.grace_seconds = grace_seconds
            self.run.terminate(grace_seconds)
        self.leaving.set()


class Machine:
    """Begins with `join`; ends with `leave`, or by accident with `lose`."""

    def __init__(
        self, spec: NodeSpec, *, kube: Kube, options: Options, port: int | None = None
    ) -> None:
        """`port`: where logs and ports of its pods are served; None: nowhere."""
        self.spec = spec
        self.residents: dict[str, Resident] = {}
        """By the pod's uid."""
        self.link = asyncio.Event()
        """Set while the node reaches the API server."""
        self._kube = kube
        self._options = options
        self._port = port
        self._since = datetime.now(UTC)
        self._beating: asyncio.Task[None] | None = None

    async def join(self) -> None:
        """Register the node; one of that name that is there already is taken over."""
        try:
            node = await self._kube.create(NODES, "", build_node(self.spec))
        except Conflict:
            node = await self._kube.get(NODES, "", self.spec.name)
        uid = node["metadata"]["uid"]
        try:
            lease = build_lease(self.spec, uid, datetime.now(UTC))
            await self._kube.create(LEASES, LEASE_NAMESPACE, lease)
        except Conflict:
            await self._renew(uid)
        await self._report()
        self.link.set()
        self._beating = asyncio.create_task(self._beat(uid))

    async def _beat(self, uid: str) -> None:
        while True:
            await asyncio.sleep(self._options.heartbeat_seconds)
            await self.link.wait()
            try:
                await self._renew(uid)
                await self._report()
            except FAULTS as fault:
                logger.warning("%s: no sign of life: %r", self.spec.name, fault)

    async def _renew(self, uid: str) -> None:
        body = {"spec": build_lease(self.spec, uid, datetime.now(UTC))["spec"]}
        await self._kube.patch(LEASES, LEASE_NAMESPACE, self.spec.name, body)

    async def _report(self) -> None:
        status = build_node_status(self.spec, datetime.now(UTC), self._since, port=self._port)
        await self._kube.patch(
            NODES, "", self.spec.name, {"status": status}, subresource="status", strategic=True
        )

    # --- Pods ---

    def take(self, pod: Document, address: str) -> None:
        """A pod of this node as the API server has it now; a silent node hears nothing."""
        if not self.link.is_set():
            return
        resident = self.residents.get(pod["metadata"]["uid"])
        if resident is None:
            resident = self._admit(pod, address)
        resident.reporter.pod = pod
        resident.reporter.wake()
        if pod["metadata"].get("deletionTimestamp"):
            resident.leave(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))

    def drop(self, uid: str) -> None:
        """The pod is no more at the API server: whatever runs of it ends at once."""
        if self.link.is_set() and uid in self.residents:
            self.residents[uid].leave(0.0)

    def _admit(self, pod: Document, address: str) -> Resident:
        reporter = Reporter(pod, self._kube, self.link)
        run = PodRun(
            pod,
            kube=self._kube,
            options=self._options,
            address=address,
            changed=reporter.wake,
        )
        resident = Resident(run, reporter)
        self.residents[pod["metadata"]["uid"]] = resident
        resident.task = asyncio.create_task(self._live(pod, resident))
        return resident

    async def _live(self, pod: Document, resident: Resident) -> None:
        run, reporter = resident.run, resident.reporter
        status = pod.get("status") or {}
        telling = asyncio.create_task(reporter.follow(lambda: run.state))
        try:
            if status.get("phase") in ("Succeeded", "Failed"):
                pass  # what an earlier kubelet has ended stays as that one left it
            elif status.get("containerStatuses"):
                run.state = lost_track(run.state)
                await reporter.tell(run.state, over=True)
            else:
                await run.run()
                await reporter.tell(run.state, over=run.is_ending)
        finally:
            telling.cancel()
        await resident.leaving.wait()
        await reporter.remove()
        self.residents.pop(pod["metadata"]["uid"], None)

    # --- Ends ---

    def cut_off(self) -> None:
        """The network fails: the pods live on, and nobody hears of this node."""
        self.link.clear()

    def lose(self) -> None:
        """The machine is gone: its processes with it, and nobody is told."""
        self.link.clear()
        if self._beating:
            self._beating.cancel()
        for resident in self.residents.values():
            resident.run.kill()

    async def leave(self) -> None:
        """The machine is taken away for good, as a cloud does: first it, then its Node object."""
        await self.stop()
        with contextlib.suppress(NotFound):
            node = await self._kube.get(NODES, "", self.spec.name)
            await self._kube.delete(NODES, "", self.spec.name, uid=node["metadata"]["uid"])

    async def stop(self) -> None:
        """Returns when the last process has ended."""
        self.lose()
        tasks = [resident.task for resident in self.residents.values() if resident.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
