"""The coordinator's server: one websocket per agent, many jobs."""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.admission import refusal_of
from spotrain.coordinator.connection import AgentConnection
from spotrain.coordinator.inbox import take
from spotrain.coordinator.inquiry import INSPECT_SECONDS
from spotrain.coordinator.job import Job, Record
from spotrain.coordinator.limits import DEFAULT, ServerLimits
from spotrain.coordinator.listener import EXPIRY_SECONDS, PING_SECONDS, dismiss, listening
from spotrain.coordinator.outbox import Outbox
from spotrain.coordinator.refusals import Cause, Count, Refusal, count_nothing
from spotrain.coordinator.report import JobReport
from spotrain.coordinator.standstill import Standstill

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
    limits: ServerLimits = DEFAULT
    jobs: dict[str, Job] = field(default_factory=dict)
    watchers: list[Callable[[str], None]] = field(default_factory=list)
    ignored: protocol.Ignored = field(default_factory=protocol.Ignored)
    """What newer agents have said and this coordinator does not know."""
    count: Count = count_nothing
    """Of `serving`; whoever listens for this coordinator counts for it."""

    def __post_init__(self) -> None:
        # Agents give it up about as late as it gives them up.
        self._standstill = Standstill(self._start_over, seconds=0.8 * self.expiry_seconds)

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
            limits=self.limits,
            count=self.count,
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

    async def serve_agent(self, connection: AgentConnection) -> None:
        """One agent's connection, from its hello to its end."""
        try:
            hello = await self._admit(connection)
            if hello is not None:
                connection.know()
                await self._converse(connection, self.jobs[hello.job], hello)
        except protocol.ProtocolError as error:
            refusal = Refusal(Cause.PROTOCOL, str(error))
            connection.refuse(refusal, code=CloseCode.PROTOCOL_ERROR)
        except (ConnectionClosed, TimeoutError):
            await connection.close()

    async def _admit(self, connection: AgentConnection) -> protocol.Hello | None:
        """The agent's hello if it may join, else None after telling it why not."""
        with _counting_delay(connection, Cause.HELLO_SECONDS):
            async with asyncio.timeout(self.limits.hello_seconds):
                text = await connection.recv()
        hello = protocol.decode(text, {"hello": protocol.Hello}, self.ignored)
        if not isinstance(hello, protocol.Hello):
            raise protocol.ProtocolError("the first message is 'hello'")
        if not self.leads():
            await dismiss(connection, protocol.NotLeader())
            return None
        refusal = refusal_of(hello, self.jobs.get(hello.job), self.limits)
        with _counting_delay(connection, Cause.REVIEW):
            if refusal is None and (words := await self.authorize(_token(connection), hello)):
                refusal = Refusal(Cause.TOKEN, words)
        # Once more, because others were served while the token was looked at.
        refusal = refusal or refusal_of(hello, self.jobs.get(hello.job), self.limits)
        if refusal is None:
            return hello
        connection.count(refusal.cause)
        extra = {"job": hello.job, "pod": hello.pod}
        logger.warning("refused %s of %s: %s", hello.pod, hello.job, refusal.words, extra=extra)
        refused = protocol.Refused(reason=refusal.words, final=refusal.is_final)
        await dismiss(connection, refused)
        return None

    async def _converse(self, connection: AgentConnection, job: Job, hello: protocol.Hello) -> None:
        outbox = Outbox(connection, version=hello.version, most_bytes=self.limits.outbox_bytes)
        job.welcome(hello, outbox)
        writer = asyncio.create_task(outbox.deliver())
        try:
            with self._standstill.watched():
                async for text in connection:
                    message = protocol.decode(text, protocol.FROM_AGENT, self.ignored)
                    if message is not None and job.outboxes.get(hello.pod) is outbox:
                        take(job, hello.pod, message)
        finally:
            writer.cancel()
            if job.outboxes.get(hello.pod) is outbox:
                job.cut(hello.pod)

    def _start_over(self, seconds: float) -> None:
        if self.leads():
            logger.warning("stood still for %.1f s: asking every agent where it stands", seconds)
            for job in self.jobs.values():
                job.start_over()

    def _notify(self, key: str) -> None:
        for watcher in self.watchers:
            watcher(key)


@contextmanager
def _counting_delay(connection: AgentConnection, cause: Cause) -> Iterator[None]:
    """Around what may take too long; the peer is sent away for it."""
    try:
        yield
    except TimeoutError:
        connection.count(cause)
        raise


def _token(connection: AgentConnection) -> str:
    header = connection.request.headers.get("Authorization", "") if connection.request else ""
    return header.removeprefix("Bearer ")
