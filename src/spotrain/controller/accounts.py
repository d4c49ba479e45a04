"""The ledger in a job's status: what is seen of its worlds, pods and nodes, entered and summed up.

It is brought up to date whenever the status changes anyway, and when a pod comes or ends, of which
nothing tells later; so it costs hardly a write of its own. All of it follows from the stored status
and from what is seen now: a write that was refused, or a controller that has just been started,
leads to the same account.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.board import LONG_AGO
from spotrain.controller.failure import pause
from spotrain.controller.model import DeletePod, Observed, Plan, earliest
from spotrain.controller.status import SUCCEEDED, SUSPENDED, JobStatus, WorldStatus
from spotrain.controller.stays import enter_by, follow_stays
from spotrain.controller.world_entries import close, follow_worlds
from spotrain.job import PRICE_HOURS, ElasticJob
from spotrain.ledger.account import Account, Record
from spotrain.ledger.closing import Closing, Rate, close_account
from spotrain.ledger.entries import BackOffEntry, PauseEntry, Place, WorldEntry
from spotrain.ledger.prices import PriceBook
from spotrain.ledger.settlement import settle
from spotrain.worlds import Reason

ENDED: Final = "the job has ended"


def keep_account(job: ElasticJob, observed: Observed, plan: Plan, now: datetime) -> Plan:
    """The plan, with the ledger in its status if it is time for that."""
    before = observed.status
    stays = before.ledger.stays if before.ledger else ()
    due = enter_by(stays, observed, now)
    if plan.status == before and (due is None or due > now):
        return replace(plan, requeue_at=earliest(plan.requeue_at, due))
    reasons = {a.uid: a.reason for a in plan.actions if isinstance(a, DeletePod)}
    record = take_account(job, observed, plan.status, now, reasons=reasons)
    status = replace(
        plan.status,
        history=record.worlds,
        ledger=record.account,
        world=_with_speed(plan.status.world, record.worlds),
    )
    return replace(plan, status=status)


def take_account(
    job: ElasticJob,
    observed: Observed,
    status: JobStatus,
    now: datetime,
    *,
    reasons: dict[str, str] | None = None,
) -> Record:
    """What the ledger comes to now. `status` says whether the job pauses or has ended."""
    account = observed.status.ledger or Account(since=_since(observed, now))
    stays = follow_stays(account.stays, observed, reasons or {}, now)
    worlds = follow_worlds(observed.status.history, observed, stays, now)
    if status.finished:
        worlds = _ended(worlds, status)
    record = Record(
        account=replace(
            account,
            stays=stays,
            pauses=_pauses(account, status, observed.status, now),
            back_offs=_back_offs(account, status),
        ),
        worlds=worlds,
    )
    closing = Closing(
        time=status.completion_time or now,
        stays=now,
        min_workers=job.min_replicas,
        storage=observed.board.terms.storage,
    )
    present = frozenset(pod.uid for pod in observed.pods)
    return close_account(settle(record, closing, present=present), closing, rates(observed, now))


def _with_speed(world: WorldStatus | None, entries: tuple[WorldEntry, ...]) -> WorldStatus | None:
    """The present world, with the speed that its entry tells: for those who read no entries."""
    if world is None:
        return None
    present = [e for e in entries[-1:] if e.number == world.number and e.ended_at is None]
    speed = present[0].steps_per_second if present else None
    return replace(world, steps_per_second=None if speed is None else float(f"{speed:.6g}"))


def rates(observed: Observed, now: datetime) -> Rate:
    """What nodes cost now. A price that was told long ago counts no more than for placement."""
    told = observed.board.prices
    fresh = [price for price in told if now - price.at <= timedelta(hours=PRICE_HOURS)]
    book = PriceBook(observed.pools, latest=fresh)

    def rate(place: Place) -> tuple[float, float]:
        in_force = next(book.over(place, now, now + timedelta(hours=1)))
        return in_force.usd_per_hour, book.list_usd_per_hour(place)

    return rate


def _since(observed: Observed, now: datetime) -> datetime:
    """From its creation on the job wants to run."""
    return observed.board.since if observed.board.since != LONG_AGO else now


def _pauses(
    account: Account, status: JobStatus, before: JobStatus, now: datetime
) -> tuple[PauseEntry, ...]:
    """A job that was made suspended has never wanted to run."""
    pauses = account.pauses
    is_open = bool(pauses) and pauses[-1].until is None
    if status.is_true(SUSPENDED) and not is_open:
        return (*pauses, PauseEntry(since=now if before.ledger else account.since))
    if is_open and not status.is_true(SUSPENDED):
        return (*pauses[:-1], replace(pauses[-1], until=status.completion_time or now))
    return pauses


def _back_offs(account: Account, status: JobStatus) -> tuple[BackOffEntry, ...]:
    """A failure that ends the job, or that another one follows at once, is waited for no longer."""
    mark = status.last_failure
    if mark is None or status.finished or any(e.since == mark.at for e in account.back_offs):
        return account.back_offs
    return (*account.back_offs, BackOffEntry(since=mark.at, until=mark.at + pause(mark)))


def _ended(worlds: tuple[WorldEntry, ...], status: JobStatus) -> tuple[WorldEntry, ...]:
    """The last world ends with its job, whoever has told of it."""
    reason = Reason.FINISHED if status.is_true(SUCCEEDED) else Reason.FAILURE
    last = [close(world, reason, ENDED, at=status.completion_time) for world in worlds[-1:]]
    return (*worlds[:-1], *last)
