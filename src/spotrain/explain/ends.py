"""Jobs that have ended, or that somebody has stopped."""

from collections.abc import Iterator, Sequence
from typing import Final

from spotrain.controller.completion import (
    BACKOFF_LIMIT_EXCEEDED,
    DEADLINE_EXCEEDED,
    MIN_REPLICAS_TIMEOUT,
)
from spotrain.controller.status import FAILED, NO_PROCESS, SUCCEEDED, SUSPENDED
from spotrain.explain.cause import Cause, Gravity, clock, ended
from spotrain.explain.situation import Case
from spotrain.ledger.entries import WorldEntry
from spotrain.ledger.time_split import step_found

BY_HAND: Final = "Suspended"
"""The reason of the condition Suspended where the spec asks for it."""
STEPS: Final = {
    BACKOFF_LIMIT_EXCEEDED: "Mend the training and submit it again; it goes on from its checkpoint "
    "where it keeps one.",
    DEADLINE_EXCEEDED: "Submit it again with a longer activeDeadlineSeconds.",
    MIN_REPLICAS_TIMEOUT: "Submit it again when there is room, with fewer minReplicas, or without "
    "minReplicasTimeoutSeconds, which lets it wait.",
}


def find_end(case: Case) -> Iterator[Cause]:
    at = case.status.completion_time
    when = f" at {clock(at)}" if at else ""
    if case.status.is_true(SUCCEEDED):
        said = f"It finished{when}: {ended(case.condition(SUCCEEDED).message)}"
        yield Cause(
            reason="Succeeded",
            gravity=Gravity.FINAL,
            said=" ".join(filter(None, (said, nothing_left(case.status.history)))),
            command=f"spotrain describe {case.name}",
        )
    elif case.status.is_true(FAILED):
        verdict = case.condition(FAILED)
        step = STEPS.get(verdict.reason, "Its log has the rest.")
        yield Cause(
            reason=verdict.reason,
            gravity=Gravity.FINAL,
            said=f"It failed{when}: {ended(verdict.message)} {step}",
            command=case.logs(),
        )


def nothing_left(worlds: Sequence[WorldEntry]) -> str:
    """A sentence about a job that has finished without a step of its own; empty: it did steps."""
    step = step_found(worlds)
    if step is None:
        return ""
    return (
        f"It had nothing left to train: a checkpoint of step {step:,} was in its output already. "
        "To train on, raise the number of epochs or steps in the script; to begin anew, give the "
        "job another name, or remove its output."
    )


def find_suspension(case: Case) -> Iterator[Cause]:
    """Whoever has suspended it: its spec, or the controller, whose condition then says why."""
    condition = case.condition(SUSPENDED)
    if condition.status == "True" and condition.reason not in (BY_HAND, NO_PROCESS):
        yield Cause(
            reason=condition.reason,
            gravity=Gravity.BLOCKED,
            said=f"The controller has stopped it: {ended(condition.message)}",
            command=f"spotrain resume {case.name} --budget USD",
        )
    if case.job is not None and case.job.suspend:
        leaving = sum(pod.phase in ("Pending", "Running") for pod in case.pods)
        verb = "is" if leaving == 1 else "are"
        rest = f" {leaving} of its workers {verb} still saving and leaving." if leaving else ""
        yield Cause(
            reason="Suspended",
            gravity=Gravity.BLOCKED,
            said="It is suspended (spec.suspend is true); resumed, it goes on from its last "
            f"checkpoint. {_nodes(case)}{rest}",
            command=f"spotrain resume {case.name}",
        )


def _nodes(case: Case) -> str:
    """What becomes of a suspended job's nodes."""
    if case.condition(SUSPENDED).reason == NO_PROCESS:
        return "Its nodes went with the process that ran it."
    if case.raw.is_local:
        return "Its nodes, which are this machine, leave when they have been idle for some minutes."
    return (
        "It costs nothing once its nodes are gone, which the autoscaler takes away when they have "
        "been idle for some minutes."
    )
