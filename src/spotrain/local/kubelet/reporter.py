"""Telling the API server how a pod stands, until it is told or the pod is no more."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from spotrain.controller.kube import FAULTS, PODS, Conflict, Kube, NotFound
from spotrain.controller.mirror import backoff
from spotrain.local.kubelet.differences import differs
from spotrain.local.kubelet.states import PodState
from spotrain.local.kubelet.status import build_status

logger = logging.getLogger(__name__)


class Reporter:
    """One pod's. `link` is set while the node can reach the API server."""

    def __init__(self, pod: Mapping[str, Any], kube: Kube, link: asyncio.Event) -> None:
        self.pod = pod
        """As the API server has it."""
        self._kube = kube
        self._link = link
        self._due = asyncio.Event()

    def wake(self) -> None:
        self._due.set()

    async def follow(self, state: Callable[[], PodState]) -> None:
        """Never returns: writes whatever changes."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self.tell(state(), over=False)

    async def tell(self, state: PodState, *, over: bool) -> None:
        """`over`: nothing of the pod will start again."""
        pauses = backoff()
        while True:
            await self._link.wait()
            before = self.pod.get("status") or {}
            wanted = build_status(
                state, before.get("conditions") or [], datetime.now(UTC), over=over
            )
            if not differs(before, wanted):
                return
            try:
                await self._write(wanted)
                return
            except (NotFound, Conflict):
                return  # the pod is gone, and its deletion is on its way here
            except FAULTS as fault:
                pause = next(pauses)
                logger.warning("%s: %r; again in %.1f s", self._name, fault, pause)
                await asyncio.sleep(pause)

    async def _write(self, status: Mapping[str, Any]) -> None:
        metadata = self.pod["metadata"]
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        self.pod = await self._kube.patch(
            PODS, metadata["namespace"], self._name, body, subresource="status", strategic=True
        )

    async def remove(self) -> None:
        """The last word on a deleted pod: nothing of it runs any more."""
        metadata, pauses = self.pod["metadata"], backoff()
        while True:
            await self._link.wait()
            with contextlib.suppress(NotFound, Conflict):
                try:
                    await self._kube.delete(
                        PODS,
                        metadata["namespace"],
                        self._name,
                        uid=metadata["uid"],
                        grace_seconds=0,
                    )
                except (NotFound, Conflict):
                    raise
                except FAULTS:
                    await asyncio.sleep(next(pauses))
                    continue
            return

    @property
    def _name(self) -> str:
        name: str = self.pod["metadata"]["name"]
        return name
