"""The process in the cluster: the probes, the port for agents, and the work of whoever leads."""

import asyncio
import logging
import socket
import ssl
from typing import Final

from spotrain.controller import trust
from spotrain.controller.connection import connected
from spotrain.controller.kube import FAULTS, Kube
from spotrain.controller.lease import Leadership, new_identity
from spotrain.controller.meters import Meters
from spotrain.controller.probes import answering
from spotrain.controller.process import run_process
from spotrain.controller.settings import Settings
from spotrain.controller.term import Term
from spotrain.coordinator.connection import AgentConnection
from spotrain.coordinator.listener import listening, turn_away
from spotrain.coordinator.server import Coordinator

logger = logging.getLogger(__name__)

RENEWAL_CHECK_SECONDS: Final = 3600.0


class Controller:
    """One of the replicas. Usage: `await Controller(kube, settings, meters, lease=kube).run()`."""

    def __init__(self, kube: Kube, settings: Settings, meters: Meters, *, lease: Kube) -> None:
        """`lease`: connections for the Lease alone, so that no work ever delays its renewal."""
        self._kube = kube
        self._settings = settings
        self._meters = meters
        self._leadership = Leadership(lease, new_identity(socket.gethostname()))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority = ""
        self._term: Term | None = None
        self._coordinator: Coordinator | None = None
        self._is_serving = False

    async def run(self) -> None:
        """Never returns. Raises KubeError, OSError where it cannot even begin."""
        address, port = self._settings.listen_address, self._settings.probe_port
        self._meters.tell_leading(self._leadership.leads)
        async with answering(address, port, self._is_ready, self._meters.page):
            await self._load_credentials()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._serve())
                group.create_task(self._renew_credentials())
                group.create_task(self._leadership.run(self._lead))

    def _is_ready(self) -> bool:
        """A standby is ready too: agents find the next leader by its address."""
        return self._is_serving and self._leadership.known.is_set()

    async def _serve(self) -> None:
        address, port = self._settings.listen_address, self._settings.coordinator_port
        count = self._meters.refused
        async with listening(self._serve_agent, address, port, tls=self._tls, count=count):
            self._is_serving = True
            where = self._settings.namespace or "every namespace"
            logger.info("listening for agents on port %d, for jobs of %s", port, where)
            await asyncio.Event().wait()

    async def _serve_agent(self, connection: AgentConnection) -> None:
        if self._coordinator is None:
            await turn_away(connection)
        else:
            await self._coordinator.serve_agent(connection)

    async def _lead(self) -> None:
        self._term = Term(
            self._kube,
            settings=self._settings,
            authority=self._authority,
            leads=self._leadership.leads,
            meters=self._meters,
            node_lost_seconds=self._settings.node_lost_seconds,
        )
        await self._term.run(self._put_behind)

    def _put_behind(self, coordinator: Coordinator | None) -> None:
        self._coordinator = coordinator

    async def _load_credentials(self) -> None:
        credentials = await trust.keep_credentials(self._kube)
        trust.load(self._tls, credentials)
        self._authority = credentials.authority
        if self._term:
            self._term.publisher.set_authority(self._authority)

    async def _renew_credentials(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            try:
                await self._load_credentials()
            except FAULTS as fault:
                logger.warning("cannot check the coordinator's certificate: %r", fault)


async def run(settings: Settings) -> None:
    """Never returns."""
    meters = Meters()
    async with connected(meters.asked) as kube, connected(meters.asked) as lease:
        await Controller(kube, settings, meters, lease=lease).run()


def main() -> int:
    return run_process(Settings.read, run, farewell="another takes over")
