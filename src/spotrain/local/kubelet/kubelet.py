"""All made-up nodes of one process, fed from one watch of the cluster's pods."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spotrain.controller.kube import Kube
from spotrain.controller.mirror import Mirror, Name
from spotrain.kinds import PODS, Object
from spotrain.local.kubelet.addresses import address_of
from spotrain.local.kubelet.machine import Machine
from spotrain.local.kubelet.node import NodeSpec
from spotrain.local.kubelet.options import Options
from spotrain.local.kubelet.pod import PodRun


class Kubelet:
    """Usage: `async with Kubelet(kube, options).running() as kubelet: await kubelet.add(spec)`.

    `kube` needs an administrator's rights: this stands for all nodes at once.
    """

    def __init__(self, kube: Kube, options: Options) -> None:
        self.machines: dict[str, Machine] = {}
        self._kube = kube
        self.options = options
        self._port: int | None = None
        self._addresses: dict[str, str] = {}
        """Uid of a pod -> its address."""
        self._pods = Mirror[Object](kind=PODS, parse=lambda pod: pod, changed=self._changed)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Kubelet"]:
        """No process outlives the context; nodes and pods stay at the API server."""
        following = asyncio.create_task(self._pods.follow(self._kube))
        try:
            async with self._served():
                yield self
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await asyncio.gather(*(machine.stop() for machine in self.machines.values()))

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        if self.options.api_authority is None:
            yield
            return
        from spotrain.local.kubelet.server import serving  # a web server, for those who ask

        folder = self.options.folder.resolve() / "tls"
        async with serving(self._reach, self.options.api_authority, folder) as self._port:
            yield

    async def add(self, spec: NodeSpec) -> Machine:
        """A node boots. Raises KubeError, or one of LOST."""
        machine = Machine(spec, kube=self._kube, options=self.options, port=self._port)
        await machine.join()
        self.machines[spec.name] = machine
        self._catch_up(machine)
        return machine

    async def remove(self, name: str) -> None:
        """Raises KubeError, or one of LOST."""
        await self.machines.pop(name).leave()

    def pids(self, namespace: str, name: str) -> dict[str, int]:
        """Container -> its first process, of a pod that runs here; empty if it does not."""
        _, run = self._find(namespace, name)
        return run.pids if run else {}

    def _reach(self, namespace: str, name: str) -> PodRun | None:
        """A pod here, as long as its node can be reached."""
        machine, run = self._find(namespace, name)
        return run if machine and machine.link.is_set() else None

    def _find(self, namespace: str, name: str) -> tuple[Machine | None, PodRun | None]:
        pod = self._pods.items.get((namespace, name))
        machine = self.machines.get(pod["spec"].get("nodeName", "")) if pod else None
        resident = machine.residents.get(pod["metadata"]["uid"]) if machine and pod else None
        return machine, resident.run if resident else None

    def restore(self, name: str) -> None:
        """The network of a node that was cut off works again."""
        machine = self.machines[name]
        machine.link.set()
        self._catch_up(machine)

    def _catch_up(self, machine: Machine) -> None:
        there = {pod["metadata"]["uid"]: pod for pod in self._pods.items.values()}
        for uid in [uid for uid in machine.residents if uid not in there]:
            machine.drop(uid)
        for pod in there.values():
            if pod["spec"].get("nodeName") == machine.spec.name:
                machine.take(pod, self._address(pod["metadata"]["uid"]))

    def _changed(self, _name: Name, old: Object | None, new: Object | None) -> None:
        if old and (new is None or new["metadata"]["uid"] != old["metadata"]["uid"]):
            self._addresses.pop(old["metadata"]["uid"], None)
            if machine := self.machines.get(old["spec"].get("nodeName", "")):
                machine.drop(old["metadata"]["uid"])
        if new and (machine := self.machines.get(new["spec"].get("nodeName", ""))):
            machine.take(new, self._address(new["metadata"]["uid"]))

    def _address(self, uid: str) -> str:
        if uid not in self._addresses:
            self._addresses[uid] = address_of(uid, set(self._addresses.values()))
        return self._addresses[uid]
