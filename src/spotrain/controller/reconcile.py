"""`reconcile`: how things are, and what to do about it. No clock, no client, no memory.

The policies decide, each in its own file; this one says in which order they are asked and puts
their answers together. Everything that must be remembered stands in the status.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from spotrain import contract
from spotrain.controller.accounts import keep_account
from spotrain.controller.budget import Budget, check_budget
from spotrain.controller.cleanup import clean_up
from spotrain.controller.completion import Verdict, deadline, judge
from spotrain.controller.conditions import fails, holds, set_conditions
from spotrain.controller.disruption import Disruptions, find_disruptions
from spotrain.controller.events import end_event, training_events
from spotrain.controller.evictions import keep_budget
from spotrain.controller.failure import Failures, find_failures
from spotrain.controller.gang import form_gang, gang_api, join_gang
from spotrain.controller.health import restarting_condition, running_condition
from spotrain.controller.model import (
    Action,
    ApplyNetworkPolicy,
    CreatePod,
    DeletePod,
    Event,
    JobStatus,
    Observed,
    Plan,
    earliest,
)
from spotrain.controller.network import build_network_policy
from spotrain.controller.outdated import find_outdated
from spotrain.controller.patience import patience_ends
from spotrain.controller.placement import Place, find_place
from spotrain.controller.pod import build_pod
from spotrain.controller.presence import strays
from spotrain.controller.progress import report
from spotrain.controller.records import record, remember_removals, tally
from spotrain.controller.replicas import size
from spotrain.controller.stall import find_stall
from spotrain.controller.status import FAILED, RESTARTING, RUNNING, SUCCEEDED, SUSPENDED, Condition
from spotrain.controller.suspend import resumption, suspend
from spotrain.job import ElasticJob, worker_name

OURS: Final = ("", f"{contract.DOMAIN}/{contract.CONTROLLER_NAME}")
"""Values of spec.managedBy that mean this controller."""


@dataclass(frozen=True)
class _Case:
    """A job that has not ended, with what has been found out about it."""

    job: ElasticJob
    observed: Observed
    now: datetime
    disruptions: Disruptions
    failures: Failures
    budget: Budget
    status: JobStatus

    def state(self, status: JobStatus, *conditions: Condition) -> JobStatus:
        return set_conditions(status, *conditions, generation=self.job.generation, now=self.now)


def reconcile(job: ElasticJob, observed: Observed, now: datetime) -> Plan:
    """Same input, same plan; a plan without actions is the common answer."""
    if job.managed_by not in OURS:
        return Plan(observed.status)
    if observed.status.finished:
        return keep_account(job, observed, _rest(job, observed, now), now)
    budget = check_budget(job, observed, now)
    held_back = replace(job, suspend=True) if budget.holds_back else job
    return keep_account(job, observed, _decide(held_back, observed, budget, now), now)


def _decide(job: ElasticJob, observed: Observed, budget: Budget, now: datetime) -> Plan:
    disruptions = find_disruptions(job, observed, now)
    failures = find_failures(job, observed, now)
    status = record(job, observed, disruptions=disruptions, failures=failures, now=now)
    case = _Case(job, observed, now, disruptions, failures, budget, status)
    verdict = judge(job, observed, failures=failures, now=now)
    if verdict:
        return _end(case, verdict)
    return _suspend(case) if job.suspend else _train(case)


def _train(case: _Case) -> Plan:
    """Replace what was lost, come to the wanted size, say how it stands."""
    job, observed, failures = case.job, case.observed, case.failures
    place = find_place(job, observed, case.now)
    stall = find_stall(job, observed, case.now)
    cleared = _distinct(
        case.disruptions.removals
        + failures.removals
        + _moved(observed, place)
        + find_outdated(job, observed)
    )
    leaving = frozenset(removal.uid for removal in cleared)
    sizing = size(job, observed, leaving=leaving, limit=place.share.limit)
    removals = cleared + sizing.removals
    running = running_condition(job, observed, workers=case.status.workers, place=place)
    restarting = restarting_condition(job, observed, running=running, failures=failures)
    status = remember_removals(case.status, observed, removals)
    status = case.state(
        replace(
            status,
            offer=place.status,
            offer_history=place.history,
            last_stall=stall.mark,
        ),
        running,
        restarting,
        fails(SUSPENDED, "Resumed", "the job takes up nodes again."),
        case.budget.exceeded,
    )
    events = training_events(
        job, observed, disruptions=case.disruptions, failures=failures, place=place, stall=stall
    )
    return Plan(
        status,
        actions=(
            *([stall.restart] if stall.restart else ()),
            *removals,
            *keep_budget(job, observed, trains=True),
            *_creations(case, sizing.create, place, status.attempt),
        ),
        events=tuple(events),
        requeue_at=earliest(
            case.disruptions.look_again,
            failures.retry_at,
            deadline(job, status.start_time),
            patience_ends(job, status),
            stall.look_again,
            report(observed, case.now).look_again,
            place.look_again,
            case.budget.look_again,
        ),
    )


def _moved(observed: Observed, place: Place) -> tuple[DeletePod, ...]:
    """Workers of a place that the job has left; they save, and come again where it has gone."""
    if place.status is None:
        return ()
    left = strays(observed.pods, place.status)
    return tuple(DeletePod(pod.name, pod.uid, None, "Moved") for pod in left)


def _distinct(removals: tuple[DeletePod, ...]) -> tuple[DeletePod, ...]:
    """One removal for each pod: the first reason for it is told."""
    return tuple({removal.uid: removal for removal in reversed(removals)}.values())[::-1]


def _creations(
    case: _Case, indexes: tuple[int, ...], place: Place, attempt: int
) -> tuple[Action, ...]:
    """New workers, behind their network policy: no worker is ever open to strangers."""
    if place.obstacle or not indexes:
        return ()
    job, coordinator = case.job, case.observed.coordinator
    gang = gang_api(job, case.observed)
    pods = (
        CreatePod(
            worker_name(job.name, index),
            index,
            join_gang(build_pod(job, index, place.offer, coordinator, attempt=attempt), job, gang),
        )
        for index in indexes
    )
    return (ApplyNetworkPolicy(build_network_policy(job)), *form_gang(job, gang), *pods)


def _suspend(case: _Case) -> Plan:
    removals = suspend(case.observed)
    status = remember_removals(case.status, case.observed, removals)
    reason = "Suspended"
    stay = "save and leave" if case.observed.pods else "have left"
    why = (
        f"the job is suspended: its workers {stay}. To go on from there: "
        f"{resumption(case.job, case.observed)}."
    )
    if case.budget.holds_back:
        reason, why = case.budget.exceeded.reason, case.budget.exceeded.message
    status = case.state(
        # The next start begins anew: its own clock, and the best place of that day.
        replace(status, start_time=None, offer=None),
        fails(RUNNING, reason, why),
        fails(RESTARTING, reason, why),
        holds(SUSPENDED, reason, why),
        case.budget.exceeded,
    )
    events: tuple[Event, ...] = ()
    if case.budget.is_new:
        events = (Event("Warning", reason, why),)
    elif not case.observed.status.is_true(SUSPENDED):
        events = (Event("Normal", reason, why),)
    budget = keep_budget(case.job, case.observed, trains=False)
    return Plan(status, actions=(*removals, *budget), events=events)


def _end(case: _Case, verdict: Verdict) -> Plan:
    """The verdict goes on record; what remains is cleaned up after it."""
    seen = report(case.observed, case.now, last=True)
    status = case.state(
        replace(
            case.status,
            completion_time=case.now,
            progress=seen.progress,
            counted_pods=(),
        ),
        fails(RUNNING, verdict.reason, verdict.message),
        fails(RESTARTING, verdict.reason, verdict.message),
        fails(SUSPENDED, verdict.reason, verdict.message),
        holds(verdict.kind, verdict.reason, verdict.message),
    )
    plan = _cleaned(case.job, case.observed, status=status, now=case.now)
    return replace(plan, events=(end_event(verdict),))


def _rest(job: ElasticJob, observed: Observed, now: datetime) -> Plan:
    """A job that has ended stays as it is: only its pods leave, and in time the job itself."""
    status = replace(
        observed.status,
        observed_generation=job.generation,
        replica_statuses={contract.WORKER: tally(observed.pods)},
    )
    return _cleaned(job, observed, status=status, now=now)


def _cleaned(job: ElasticJob, observed: Observed, *, status: JobStatus, now: datetime) -> Plan:
    verdict = status.condition(SUCCEEDED if status.is_true(SUCCEEDED) else FAILED)
    cleanup = clean_up(
        job,
        observed.pods,
        reason=verdict.reason if verdict else "",
        ended_at=status.completion_time or now,
        now=now,
    )
    budget = keep_budget(job, observed, trains=False)
    return Plan(status, actions=(*budget, *cleanup.actions), requeue_at=cleanup.look_again)
