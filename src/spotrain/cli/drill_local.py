"""Drills on this machine: the process that runs the job is asked to take a worker away."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from spotrain.cli.drill_calls import Worker
from spotrain.cli.drill_plan import Strike, aim, names
from spotrain.cli.drill_verdict import nodes_usd_per_hour
from spotrain.cli.drilling import Check, nothing_to_check
from spotrain.cli.job_view import JobView
from spotrain.cli.local_jobs import LocalJobs, usable
from spotrain.job import parse_pools
from spotrain.ledger.prices import PriceBook
from spotrain.local.interruptions import Manner, ask
from spotrain.local.shelf import StoredJob


@dataclass(frozen=True)
class OnThisMachine:
    """`Ground`: nodes are made up, and workers are processes that get real signals."""

    jobs: LocalJobs
    job: str
    local = True

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        chosen, leaving = aim(manner, self.job, workers_of(seen), index, local=True)
        pods, node = names(leaving), chosen.node
        says = {
            Manner.NOTICE: f"sends SIGTERM to {pods} on {node}, with its grace period as notice",
            Manner.KILL: f"sends SIGKILL to {pods} on {node}",
            Manner.NODE: f"takes back {node} as a spot node, with notice, and {pods} with it",
        }
        return Strike(manner=manner, worker=chosen, leaving=leaving, says=says[manner])

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[Check]:
        ask(self._stored.folder, strike.manner, strike.worker.uid)
        yield nothing_to_check

    def usd_per_hour(self, seen: JobView) -> float | None:
        """By the pools that the job was given; nobody bills the machine that one sits at."""
        with usable():
            account, pools = seen.status.ledger, self._stored.settings().pools
        if account is None or not pools:
            return None
        book = PriceBook(parse_pools(pools))
        return nodes_usd_per_hour(account.stays, book, datetime.now(UTC))

    @property
    def _stored(self) -> StoredJob:
        return self.jobs.shelf.find(self.job)


def workers_of(seen: JobView) -> list[Worker]:
    """Those that run, by their number."""
    account = seen.status.ledger
    found = [
        Worker(index=int(stay.pod.rpartition("-")[2]), pod=stay.pod, uid=stay.uid, node=stay.node)
        for stay in (account.stays if account else ())
        if stay.started_at and not stay.ended_at
    ]
    return sorted(found, key=lambda worker: worker.index)
