"""Leading, and standing by: the Lease that controllers agree over, in the API server."""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

from spotrain import contract
from spotrain.controller import election
from spotrain.controller.election import Candidate, Lease
from spotrain.controller.kube import FAULTS, Conflict, Kube, NotFound
from spotrain.kinds import LEASES, Object

logger = logging.getLogger(__name__)

NAME: Final = contract.CONTROLLER_NAME
ANSWER_SECONDS: Final = 3.0
"""For one request: a renewal that hangs must leave time for another."""
RESIGN_SECONDS: Final = 3.0


def boot_clock() -> float:
    """Seconds, also those in which this machine was suspended: a Lease runs on meanwhile."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def new_identity(host: str) -> str:
    """Of this process alone: a restarted one must not take its predecessor's Lease for its own."""
    return f"{host}_{uuid.uuid4()}"


class Leadership:
    """Usage: `await Leadership(kube, identity).run(term)`."""

    def __init__(
        self, kube: Kube, identity: str, *, clock: Callable[[], float] = boot_clock
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._candidate = Candidate(identity=identity)
        self.known = asyncio.Event()
        """The Lease was read or written once: this process can lead or stand by."""

    def leads(self) -> bool:
        """Ask before every act: right also in a process that has just been woken from a stop."""
        return self._candidate.leads(self._clock())

    async def run(self, term: Callable[[], Awaitable[None]]) -> None:
        """Never returns: stand by until elected, run a term for as long as this one leads, again.

        `term` never returns by itself; it is cancelled, and waited for, before this one contends
        again. What it raises ends this.
        """
        try:
            while True:
                while not self.leads():
                    await self._contend(ANSWER_SECONDS)
                    if not self.leads():
                        await asyncio.sleep(election.RETRY_SECONDS)
                logger.info("leading, as %s", self._candidate.identity)
                await self._serve(term)
                logger.warning("leading no more: the Lease %s is lost, or was not renewed", NAME)
        finally:
            await self._resign()

    async def _serve(self, term: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(term())
        try:
            while self.leads():
                await asyncio.wait({task}, timeout=min(election.RETRY_SECONDS, self._remaining()))
                if task.done():
                    task.result()
                    raise RuntimeError("a term ended before its time")
                if self.leads():
                    await self._contend(min(ANSWER_SECONDS, self._remaining()))
        finally:
            task.cancel()
            await asyncio.wait({task})
            self._candidate = election.stand_by(self._candidate)

    def _remaining(self) -> float:
        return max(0.0, (self._candidate.leads_until or 0.0) - self._clock())

    async def _contend(self, seconds: float) -> None:
        """Read the Lease; claim or renew it where that is allowed."""
        try:
            async with asyncio.timeout(seconds):
                lease = await self._read()
                self._candidate = election.see(self._candidate, lease, self._clock())
                self.known.set()
                sent_at = self._clock()
                if claim := election.claim(self._candidate, sent_at):
                    written = await self._write(claim)
                    self._candidate = election.win(
                        self._candidate, written, sent_at=sent_at, now=self._clock()
                    )
        except Conflict:
            logger.debug("the Lease %s was changed by another meanwhile", NAME)
        except (*FAULTS, TimeoutError) as fault:
            logger.warning("cannot read or renew the Lease %s: %r", NAME, fault)

    async def _resign(self) -> None:
        """Whoever is next need not wait for the Lease to run out."""
        if given_up := election.resign(self._candidate):
            self._candidate = Candidate(identity=self._candidate.identity)
            try:
                async with asyncio.timeout(RESIGN_SECONDS):
                    await self._write(given_up)
            except (*FAULTS, TimeoutError) as fault:
                logger.warning("the Lease %s is left to run out: %r", NAME, fault)

    async def _read(self) -> Lease:
        try:
            return parse(await self._kube.get(LEASES, contract.SYSTEM_NAMESPACE, NAME))
        except NotFound:
            return Lease()

    async def _write(self, lease: Lease) -> Lease:
        """Raises Conflict if it is no longer the one that was seen."""
        is_same = self._candidate.lease and self._candidate.lease.holder == lease.holder
        body = document(lease, datetime.now(UTC), is_taken=not is_same)
        if lease.version:
            kept = await self._kube.patch(LEASES, contract.SYSTEM_NAMESPACE, NAME, body)
        else:
            kept = await self._kube.create(LEASES, contract.SYSTEM_NAMESPACE, body)
        return parse(kept)


def parse(stored: Object) -> Lease:
    """What nobody can read counts as absent: the version still guards it."""
    spec = stored.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return Lease(
        holder=spec.get("holderIdentity") or "",
        seconds=float(seconds or election.LEASE_SECONDS),
        transitions=transitions or 0,
        version=stored["metadata"]["resourceVersion"],
    )


def document(lease: Lease, now: datetime, *, is_taken: bool) -> Object:
    """The times are for people; nobody's clock is trusted with them."""
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata: dict[str, Any] = {"name": NAME, "namespace": contract.SYSTEM_NAMESPACE}
    if lease.version:
        metadata["resourceVersion"] = lease.version
    spec: Object = {
        "holderIdentity": lease.holder,
        "leaseDurationSeconds": int(lease.seconds),
        "leaseTransitions": lease.transitions,
        "renewTime": moment,
    }
    if is_taken:
        spec["acquireTime"] = moment
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }
