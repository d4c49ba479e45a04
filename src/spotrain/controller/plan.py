"""What the controller may decide: the actions of a plan, its events, and the plan itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from spotrain.controller.status import JobStatus


@dataclass(frozen=True)
class CreatePod:
    """A pod of that name that is there already is no error: the next look decides again."""

    name: str
    index: int
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class DeletePod:
    """To be done with the uid as precondition, so that a namesake is never hit."""

    name: str
    uid: str
    grace_seconds: int | None
    """None: the pod's own grace period."""
    reason: str


@dataclass(frozen=True)
class ApplyNetworkPolicy:
    """Server-side apply: asserting it again changes nothing."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class ApplyDisruptionBudget:
    """Server-side apply, as above."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class ApplyPodGroup:
    """Server-side apply, as above."""

    api: str
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteDisruptionBudget:
    name: str
    uid: str


@dataclass(frozen=True)
class RestartWorld:
    """The coordinator's to do; for a world that is over already it changes nothing."""

    number: int
    message: str


@dataclass(frozen=True)
class DeleteJob:
    """The time to live after the job's end is over."""


Request = (
    DeletePod
    | ApplyNetworkPolicy
    | ApplyDisruptionBudget
    | ApplyPodGroup
    | DeleteDisruptionBudget
    | DeleteJob
)
"""One request to the API server, whose answer matters to nobody."""
Action = CreatePod | RestartWorld | Request


@dataclass(frozen=True)
class Event:
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True)
class Plan:
    """Whoever carries it out writes `status` first, then acts in order, and stops at a conflict; a
    plan that takes nothing away need not wait for its status.

    So a job's end is on record before its pods go, and a failure is counted before its traces are
    removed: whatever breaks half-way, the next look at the cluster comes to the same plan.
    """

    status: JobStatus
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()
    requeue_at: datetime | None = None
    """When to look again although nothing was reported; None: no need."""


def earliest(*moments: datetime | None) -> datetime | None:
    """The first of the moments at which something is due, if anything is."""
    return min((moment for moment in moments if moment), default=None)
