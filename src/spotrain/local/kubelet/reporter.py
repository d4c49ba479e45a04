"""Telling the API server how a pod stands, until it is told or the pod is no more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from spotrain.controller.kube import FAULTS, Conflict, Kube, KubeError, NotFound
from spotrain.controller.mirror import backoff
from spotrain.kinds import PODS
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

        async def write() -> None:
            before = self.pod.get("status") or {}
            wanted = build_status(
                state, before.get("conditions") or [], datetime.now(UTC), over=over
            )
            if differs(before, wanted):
                await self._write(wanted)

        await self._insist(write)

    async def _write(self, status: Mapping[str, Any]) -> None:
        metadata = self.pod["metadata"]
        where, name = metadata["namespace"], metadata["name"]
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        self.pod = await self._kube.patch(
            PODS, where, name, body, subresource="status", strategic=True
        )

    async def remove(self) -> None:
        """The last word on a deleted pod: nothing of it runs any more."""
        metadata = self.pod["metadata"]
        where, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
        await self._insist(lambda: self._kube.delete(PODS, where, name, uid=uid, grace_seconds=0))

    async def _insist(self, request: Callable[[], Awaitable[None]]) -> None:
        """Again and again, until it is answered."""
        pauses = backoff()
        while True:
            await self._link.wait()
            try:
                return await request()
            except (NotFound, Conflict):
                return  # the pod is gone, and its deletion is on its way here
            except FAULTS as fault:
                if _names_another(fault):
                    return
                pause = next(pauses)
                name = self.pod["metadata"]["name"]
                logger.warning("%s: %r; again in %.1f s", name, fault, pause)
                await asyncio.sleep(pause)


def _names_another(fault: Exception) -> bool:
    """A pod of the same name has come: the status was to change what of a pod never changes."""
    is_refused = isinstance(fault, KubeError) and fault.status == HTTPStatus.UNPROCESSABLE_ENTITY
    return is_refused and "metadata.uid" in str(fault)
