"""Conditions: what holds of a job, since when, and why, in one word and one sentence."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from spotrain.controller.status import (
    BUDGET_EXCEEDED,
    CREATED,
    FAILED,
    PENDING,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    Condition,
    JobStatus,
)

BELOW_MIN: Final = "BelowMinReplicas"
"""Reason of Running, for a job that has trained and has lost too many workers."""
ORDER: Final = (CREATED, RUNNING, RESTARTING, SUSPENDED, BUDGET_EXCEEDED, SUCCEEDED, FAILED)
STATES: Final = (FAILED, SUCCEEDED, SUSPENDED, RUNNING, RESTARTING)
"""The condition that matters most comes first."""


def set_conditions(
    status: JobStatus, *news: Condition, generation: int, now: datetime
) -> JobStatus:
    """The status with these conditions; one whose truth did not change keeps its time.

    A condition that never held is not mentioned until it does.
    """
    by_type = {condition.type: condition for condition in status.conditions}
    for new in news:
        old = by_type.get(new.type)
        if old is None and new.status == "False" and new.type != RUNNING:
            continue
        since = old.last_transition_time if old and old.status == new.status else now
        by_type[new.type] = replace(new, last_transition_time=since, observed_generation=generation)
    known = tuple(by_type[kind] for kind in ORDER if kind in by_type)
    foreign = tuple(c for kind, c in sorted(by_type.items()) if kind not in ORDER)
    changed = replace(status, conditions=known + foreign)
    state = next((kind for kind in STATES if changed.is_true(kind)), PENDING)
    return replace(changed, state=state)


def holds(kind: str, reason: str, message: str) -> Condition:
    return Condition(kind, "True", reason, message)


def fails(kind: str, reason: str, message: str) -> Condition:
    return Condition(kind, "False", reason, message)


def has_run(status: JobStatus) -> bool:
    """Has the job run since it was started or resumed?"""
    before = status.condition(RUNNING)
    return before is not None and (before.status == "True" or before.reason == BELOW_MIN)
