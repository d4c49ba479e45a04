"""One pod on its node: init containers in order, then the others, restarts, and the end."""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from spotrain.controller.kube import FAULTS, Kube
from spotrain.local.image import Launch, NotLocal
from spotrain.local.kubelet.addresses import HOST_IP
from spotrain.local.kubelet.container import ContainerRun, Files
from spotrain.local.kubelet.environment import NotThere, Sources, build_environment
from spotrain.local.kubelet.launch import (
    base_environment,
    find_mounts,
    hosts_file,
    plan_launch,
    refuse_what_is_missing,
)
from spotrain.local.kubelet.log_times import LogTimes
from spotrain.local.kubelet.options import Options
from spotrain.local.kubelet.restarts import backoff_seconds, restarts
from spotrain.local.kubelet.states import Container, Ended, PodState, Running, State, Waiting
from spotrain.local.kubelet.storage import Storage, fetch_sources
from spotrain.local.kubelet.volumes import Places, plan_volumes

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]
LOOK_AGAIN_SECONDS: Final = 0.5
"""While something that the pod needs is not there yet."""
SYNC_SECONDS: Final = 60.0
"""Volumes follow their ConfigMaps and Secrets, and tokens are renewed, at this pace."""


class PodRun:
    """Runs a pod. `changed` is called whenever `state` has become another."""

    def __init__(
        self,
        pod: Document,
        *,
        kube: Kube,
        options: Options,
        address: str,
        changed: Callable[[], None],
    ) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        self.state = PodState(
            init=tuple(_fresh(one) for one in spec.get("initContainers") or []),
            main=tuple(_fresh(one) for one in spec["containers"]),
            restart_policy=spec.get("restartPolicy", "Always"),
            host_ip=HOST_IP,
            ip=address,
            started_at=datetime.now(UTC),
        )
        name = f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
        self.folder = (options.folder / "pods" / name).resolve()
        self._pod = pod
        self._kube = kube
        self._options = options
        self._addresses = {
            **dict.fromkeys(("status.podIP", "status.podIPs"), address),
            **dict.fromkeys(("status.hostIP", "status.hostIPs"), HOST_IP),
        }
        """As the downward API names them."""
        self._changed = changed
        self._storage = Storage(kube, pod)
        self._runs: dict[str, ContainerRun] = {}
        self._times: dict[Path, LogTimes] = {}
        """By log."""
        self._ending = asyncio.Event()

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    @property
    def pids(self) -> dict[str, int]:
        """Container -> its first process, of those that run."""
        return {name: run.pid for name, run in self._runs.items() if run.pid}

    def log_times(self, name: str, *, previous: bool = False) -> LogTimes | None:
        """Of a container's present or last run, or the one before; None: there was none."""
        count = max((int(log.stem) for log in self._times if log.parent.name == name), default=-1)
        return self._times.get(self.folder / "logs" / name / f"{count - previous}.log")

    def terminate(self, grace_seconds: float) -> None:
        """SIGTERM now, SIGKILL after the grace period; a second word may only shorten it."""
        self._ending.set()
        for run in self._runs.values():
            run.terminate(grace_seconds)

    def kill(self) -> None:
        self._ending.set()
        for run in self._runs.values():
            run.kill()

    async def run(self) -> None:
        """Until no container runs any more and none will."""
        try:
            refuse_what_is_missing(self._pod)
            for spec in self._pod["spec"].get("initContainers") or []:
                if not await self._keep(spec, is_init=True):
                    return
            async with asyncio.TaskGroup() as group:
                sync = group.create_task(self._sync())
                main = [
                    group.create_task(self._keep(spec, is_init=False))
                    for spec in self._pod["spec"]["containers"]
                ]
                await asyncio.wait(main)
                sync.cancel()
        except* NotLocal as refusals:
            message = str(refusals.exceptions[0])
            logger.warning("%s: refused: %s", self.folder.name, message)
            self._become(replace(self.state, reason="NotLocal", message=message))
        finally:
            for left in ("volumes", "tmp"):
                shutil.rmtree(self.folder / left, ignore_errors=True)

    async def _keep(self, spec: Document, *, is_init: bool) -> bool:
        """Run it, again and again if the pod says so; returns whether it has succeeded."""
        name = spec["name"]
        while True:
            launch = await self._prepared(spec)
            if launch is None:
                return False
            files = self._files(name)
            self._runs[name] = ContainerRun(spec, launch, files)
            async with self._times.setdefault(files.log, LogTimes(files.log)).kept():
                ended = await self._runs[name].run(lambda at: self._enter(name, Running(at)))
            del self._runs[name]
            self._enter(name, ended)
            again = restarts(self.state.restart_policy, ended.exit_code, is_init=is_init)
            if self.is_ending or not again:
                return ended.exit_code == 0
            count = self.state.container(name).restarts
            seconds = backoff_seconds(self._options.crash_backoff_seconds, count)
            self._enter(name, Waiting("CrashLoopBackOff", f"back-off {seconds:.0f} s"))
            await self._pause(seconds)

    def _files(self, name: str) -> Files:
        """Of the container's present run, or of the one that comes next."""
        count = self.state.container(name).restarts
        return Files(
            log=self.folder / "logs" / name / f"{count}.log",
            termination=self.folder / "tmp" / f"{name}-{count}.end",
        )

    async def _prepared(self, spec: Document) -> Launch | None:
        """As soon as all that it needs is there; None if the pod is to end before."""
        while not self.is_ending:
            try:
                return await self._plan(spec)
            except (NotThere, *FAULTS) as missing:
                reason = "CreateContainerConfigError" if isinstance(missing, NotThere) else ""
                self._enter(spec["name"], Waiting(reason or "ContainerCreating", str(missing)))
                await self._pause(LOOK_AGAIN_SECONDS)
        return None

    async def _plan(self, spec: Document) -> Launch:
        pod, options = self._pod, self._options
        sources = await fetch_sources(self._kube, pod)
        folders = await self._fill_volumes(sources)
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        hostname = pod["spec"].get("hostname") or pod["metadata"]["name"]
        hosts = self.folder / "hosts"
        if not hosts.is_file():  # later it is mounted, and a reader could find it half written
            hosts.write_text(hosts_file(pod, hostname, self.state.ip, options.hosts))
        return plan_launch(
            spec,
            image=options.images.get(spec.get("image", ""), options.image),
            variables=build_environment(pod, spec, sources, self._addresses),
            mounts=find_mounts(spec, folders, self._files(spec["name"]).termination),
            base={
                **base_environment(os.environ),
                "TMPDIR": str(self.folder / "tmp"),
                **options.environment,
            },
            hosts=hosts,
            hostname=hostname,
        )

    async def _fill_volumes(self, sources: Sources) -> dict[str, Path]:
        """Volume -> folder."""
        places = Places(
            scratch=self.folder,
            node=self._options.folder.resolve() / "nodes" / self._pod["spec"]["nodeName"],
            claims={claim: folder.resolve() for claim, folder in self._options.claims.items()},
        )
        volumes = plan_volumes(self._pod, sources, places, self._addresses)
        for volume in volumes.values():
            await self._storage.write(volume)
        return {name: volume.folder for name, volume in volumes.items()}

    async def _sync(self) -> None:
        """Keep up what the volumes hold; what fails now is tried again at the next turn."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            with contextlib.suppress(NotThere, *FAULTS):
                await self._fill_volumes(await fetch_sources(self._kube, self._pod))

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    def _enter(self, name: str, state: State) -> None:
        if self.state.container(name).state != state:
            self._become(self.state.with_container(self.state.container(name).become(state)))

    def _become(self, state: PodState) -> None:
        self.state = state
        self._changed()


def _fresh(spec: Document) -> Container:
    return Container(name=spec["name"], image=spec.get("image", ""))


def lost_track(state: PodState) -> PodState:
    """Of a pod that an earlier kubelet ran: its processes ended with that one."""
    now = datetime.now(UTC)
    end = Ended(137, now, now, "the kubelet that ran it has ended", "ContainerStatusUnknown")
    return replace(state, main=tuple(one.become(end) for one in state.main))
