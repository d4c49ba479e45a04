"""When a job has ended, and how."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.failure import Failures, limit
from spotrain.controller.model import Observed, PodView
from spotrain.controller.patience import patience_ends
from spotrain.controller.replicas import done, least
from spotrain.controller.status import FAILED, RUNNING, SUCCEEDED
from spotrain.job import ElasticJob

WORKER_SUCCEEDED: Final = "WorkerSucceeded"
TRAINING_SUCCEEDED: Final = "TrainingSucceeded"
TRAINING_FAILED: Final = "TrainingFailed"
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
MIN_REPLICAS_TIMEOUT: Final = "MinReplicasTimeout"
BACKOFF_LIMIT_EXCEEDED: Final = "BackoffLimitExceeded"
LONGEST_QUOTE: Final = 300


@dataclass(frozen=True)
class Verdict:
    """The end of a job: `kind` is the condition Succeeded or Failed."""

    kind: str
    reason: str
    message: str


def judge(
    job: ElasticJob, observed: Observed, *, failures: Failures, now: datetime
) -> Verdict | None:
    """The verdict, or None while the job goes on. Success comes first.

    Workers of one world finish together: once one has succeeded, whatever befalls the others on
    their way out changes nothing.
    """
    winners = done(observed.pods)
    if len(winners) >= (job.replicas if job.success_policy == "AllWorkers" else 1):
        return Verdict(SUCCEEDED, WORKER_SUCCEEDED, f"{winners[0].name} finished the training.")
    world = observed.world
    if world and world.outcome == "succeeded":
        message = f"world {world.number} finished the training at step {world.step:,}."
        return Verdict(SUCCEEDED, TRAINING_SUCCEEDED, message)
    if world and world.outcome == "failed":
        message = quote(world.message) or f"world {world.number} gave up without a message."
        return Verdict(FAILED, TRAINING_FAILED, message)
    if is_beyond_recovery(job, failures):
        return Verdict(FAILED, BACKOFF_LIMIT_EXCEEDED, _too_often(job, failures))
    end = deadline(job, observed.status.start_time)
    if end and end <= now:
        seconds = job.run_policy.active_deadline_seconds
        message = f"the job ran into activeDeadlineSeconds, {seconds}; raise it to let it finish."
        return Verdict(FAILED, DEADLINE_EXCEEDED, message)
    return _impatient(job, observed, now)


def is_beyond_recovery(job: ElasticJob, failures: Failures) -> bool:
    """Are the forgiven failures used up, and too few workers left that could train?

    A worker that is not forgiven is not replaced; the others train on while they are enough.
    """
    return failures.total > limit(job) and job.replicas - len(failures.waiting) < job.min_replicas


def _impatient(job: ElasticJob, observed: Observed, now: datetime) -> Verdict | None:
    ends = patience_ends(job, observed.status)
    ready = sum(pod.ready and not pod.deleting for pod in observed.pods)
    if ends is None or now < ends or ready >= least(job, observed.pods):
        return None
    seconds = job.elastic.min_replicas_timeout_seconds
    running = observed.status.condition(RUNNING)
    message = (
        f"fewer than minReplicas workers for {seconds} s, minReplicasTimeoutSeconds: "
        f"{running.message if running else ''}"
    )
    return Verdict(FAILED, MIN_REPLICAS_TIMEOUT, message)


def deadline(job: ElasticJob, start: datetime | None) -> datetime | None:
    """When the job must have ended. Suspended time does not count: resuming sets a new start."""
    seconds = job.run_policy.active_deadline_seconds
    if seconds is None or start is None or job.suspend:
        return None
    return start + timedelta(seconds=seconds)


def describe(pod: PodView) -> str:
    """A failed pod in a few words."""
    code = "without an exit code" if pod.exit_code is None else f"with exit code {pod.exit_code}"
    details = ": ".join(part for part in (pod.reason, quote(pod.message)) if part)
    return f"{pod.name} failed {code}" + (f" ({details})" if details else "")


def quote(message: str) -> str:
    """The end of a message, where a traceback says what happened, in a status' measure."""
    text = message.strip()
    return text if len(text) <= LONGEST_QUOTE else "..." + text[-LONGEST_QUOTE:]


def _too_often(job: ElasticJob, failures: Failures) -> str:
    last = f"; last: {describe(failures.fresh[0])}" if failures.fresh else ""
    if job.restart_policy == "Never":
        return f"restartPolicy Never forgives no failure{last}."
    return f"failed {failures.total} times, backoffLimit is {limit(job)}{last}."
