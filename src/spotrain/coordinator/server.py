"""The coordinator's server: one websocket per agent, many jobs."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.inbox import take
from spotrain.coordinator.job import INSPECT_SECONDS, Job, JobReport, Record, claim_of
from spotrain.coordinator.listener import (
    EXPIRY_SECONDS,
    HELLO_SECONDS,
    PING_SECONDS,
    listening,
    say_not_leader,
)

logger = logging.getLogger(__name__)

Authorize = Callable[[str, protocol.Hello], Awaitable[str]]
"""(token, hello) -> "" if this agent may speak for that pod of that job, else why not."""


@dataclass(kw_only=True)
class Coordinator:
    """Forms worlds for the jobs it was told of.

    `record` makes world numbers durable; `authorize` decides who may join. Liveness is judged by
    this machine's monotonic clock: a reset counts at once, silence after `expiry_seconds`.
    """

    record: Record
    authorize: Authorize
    leads: Callable[[], bool] = lambda: True
    """False: this process may no longer speak for any job, whatever it knows of them."""
    clock: Callable[[], float] = time.monotonic
    ping_seconds: float = PING_SECONDS
    expiry_seconds: float = EXPIRY_SECONDS
    inspect_seconds: float = INSPECT_SECONDS
    jobs: dict[str, Job] = field(default_factory=dict)
    watchers: list[Callable[[str], None]] = field(default_factory=list)

    def set_job(
        self, key: str, limits: worlds.Limits, *, number: int = 0, restarts: int = 0
    ) -> None:
        """Admit a job, or change its limits. `number`: its last durable world number; `restarts`:
        how many it has used up."""
        if key in self.jobs:
            job = self.jobs[key]
            if job.state.limits != limits:
                job.dispatch(worlds.LimitsChanged(limits=limits))
            return
        self.jobs[key] = Job(
            key=key,
            limits=limits,
            record=self.record,
            clock=self.clock,
            changed=self._notify,
            number=number,
            leads=self.leads,
            restarts=restarts,
            inspect_seconds=self.inspect_seconds,
        )

    def drop_job(self, key: str) -> None:
        """Forget a job; agents that still speak for it are told so and sent away."""
        job = self.jobs.pop(key, None)
        if job is not None:
            job.dismiss(protocol.Refused(reason=f"job {key!r} was deleted"))

    def lose(self, key: str, pod: str) -> None:
        """The controller's word that a pod is gone: no need to wait for its ping to expire."""
        if key in self.jobs:
            self.jobs[key].cut(pod)

    def stall(self, key: str, world: int, message: str) -> None:
        """The controller's word that a world does no step any more: it is left and formed anew."""
        if key in self.jobs:
            self.jobs[key].stall(world, message)

    def report(self, key: str) -> JobReport | None:
        job = self.jobs.get(key)
        return job.report() if job is not None else None

    @asynccontextmanager
    async def serving(
        self, host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> AsyncIterator[int]:
        """Serve until the context is left; yields the port (0 asks the system for a free one).

        Raises:
            OSError: the port is taken; the message names host and port.
        """
        listener = listening(
            self.serve_agent,
            host,
            port,
            tls=tls,
            ping_seconds=self.ping_seconds,
            expiry_seconds=self.expiry_seconds,
        )
        try:
            async with listener as port:
                yield port
        finally:
            self.stop()

    def stop(self) -> None:
        """Form no more worlds; connections end with the server."""
        for job in self.jobs.values():
            job.stop()

    def stand_down(self) -> None:
        """Another coordinator leads: send every agent to it, and say nothing else any more."""
        for job in self.jobs.values():
            job.dismiss(protocol.NotLeader())
        self.jobs.clear()

    async def serve_agent(self, connection: ServerConnection) -> None:
        """One agent's connection, from its hello to its end."""
        try:
            hello = await self._admit(connection)
            if hello is not None:
                await self._converse(connection, self.jobs[hello.job], hello)
        except protocol.ProtocolError as error:
            logger.warning("refused %s: %s", connection.remote_address, error)
            await connection.close(1002, str(error)[:120])
        except (ConnectionClosed, TimeoutError):
            await connection.close()

    async def _admit(self, connection: ServerConnection) -> protocol.Hello | None:
        """The agent's hello if it may join, else None after telling it why not."""
        async with asyncio.timeout(HELLO_SECONDS):
            hello = protocol.decode(await connection.recv(), {"hello": protocol.Hello})
        if hello is None:
            raise protocol.ProtocolError("the first message is 'hello'")
        if not self.leads():
            await say_not_leader(connection)
            return None
        reason, final = await self._reason_to_refuse(connection, hello), True
        if not reason and hello.job not in self.jobs:
            reason, final = f"job {hello.job!r} is not known here; was it deleted?", False
        if reason:
            extra = {"job": hello.job, "pod": hello.pod}
            logger.warning("refused %s of %s: %s", hello.pod, hello.job, reason, extra=extra)
            await connection.send(protocol.encode(protocol.Refused(reason=reason, final=final)))
            await connection.close()
            return None
        assert isinstance(hello, protocol.Hello)
        return hello

    async def _reason_to_refuse(self, connection: ServerConnection, hello: protocol.Hello) -> str:
        if hello.version not in protocol.SUPPORTED:
            versions = ", ".join(map(str, sorted(protocol.SUPPORTED)))
            return (
                f"protocol version {hello.version} is not served, only {versions}; "
                "use an image of the same spotrain release as the controller"
            )
        if hello.job not in self.jobs:
            return ""  # nothing to authorize against; the caller says so
        if not 1 <= hello.ranks <= 64:
            return f"{hello.ranks} ranks: an agent has 1 to 64"
        header = connection.request.headers.get("Authorization", "") if connection.request else ""
        return await self.authorize(header.removeprefix("Bearer "), hello)

    async def _converse(
        self, connection: ServerConnection, job: Job, hello: protocol.Hello
    ) -> None:
        if hello.pod in job.sends:  # a second connection of the same pod: the first one is dead
            job.cut(hello.pod)
        if hello.uses_session is not None:
            job.uses_session = hello.uses_session
        outbox: asyncio.Queue[str | None] = asyncio.Queue()
        send = outbox.put_nowait
        job.sends[hello.pod] = send
        welcome = protocol.Welcome(version=hello.version, uses_session=job.uses_session)
        send(protocol.encode(welcome))
        claim = claim_of(hello.world) if hello.world is not None else None
        job.dispatch(
            worlds.Joined(
                id=hello.pod,
                address=hello.address,
                ranks=hello.ranks,
                claim=claim,
                finished=hello.finished,
            )
        )
        if hello.leaving_seconds is not None:
            job.dispatch(worlds.Leaving(id=hello.pod, seconds=hello.leaving_seconds))
        writer = asyncio.create_task(_drain_outbox(outbox, connection))
        try:
            async for text in connection:
                message = protocol.decode(text, protocol.FROM_AGENT)
                if message is not None and job.sends.get(hello.pod) is send:
                    take(job, hello.pod, message)
        finally:
            writer.cancel()
            if job.sends.get(hello.pod) is send:
                job.sends.pop(hello.pod)
                job.dispatch(worlds.Lost(id=hello.pod))

    def _notify(self, key: str) -> None:
        for watcher in self.watchers:
            watcher(key)


async def _drain_outbox(outbox: asyncio.Queue[str | None], connection: ServerConnection) -> None:
    """One writer a connection keeps its messages in order; a slow peer expires by its ping."""
    with suppress(ConnectionClosed):
        while (text := await outbox.get()) is not None:
            await connection.send(text)
        await connection.close()
