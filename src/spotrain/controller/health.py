"""Does the job run, and if not, what is it waiting for?"""

from typing import Final

from spotrain.controller.completion import describe
from spotrain.controller.conditions import fails, holds
from spotrain.controller.failure import Failures, limit
from spotrain.controller.model import Observed
from spotrain.controller.placement import Obstacle
from spotrain.controller.status import RESTARTING, RUNNING, Condition, ReplicaStatus
from spotrain.job import ElasticJob

BELOW_MIN: Final = "BelowMinReplicas"


def running_condition(
    job: ElasticJob, observed: Observed, *, workers: ReplicaStatus, obstacle: Obstacle | None
) -> Condition:
    """Running means that enough workers are ready to train, not that pods exist."""
    said = f"{workers.ready} of {job.replicas} workers are ready, {job.min_replicas} needed."
    homeless = [pod for pod in observed.pods if pod.unschedulable and not pod.deleting]
    if homeless:
        said += f" {len(homeless)} without a node: {homeless[0].unschedulable}"
    if obstacle:
        said += f" {obstacle.message}"
    if workers.ready >= job.min_replicas:
        return holds(RUNNING, "EnoughWorkers", said)
    if has_run(observed):
        return fails(RUNNING, BELOW_MIN, said)
    if obstacle:
        return fails(RUNNING, obstacle.reason, said)
    return fails(RUNNING, "Unschedulable" if homeless else "WorkersStarting", said)


def restarting_condition(
    job: ElasticJob, observed: Observed, *, running: Condition, failures: Failures
) -> Condition:
    """Restarting: something was lost and comes back by itself."""
    if failures.waiting and failures.retry_at:
        again = failures.retry_at.isoformat(timespec="seconds")
        message = (
            f"{describe(failures.waiting[0])}; failure {failures.total} of {limit(job)} that are "
            f"forgiven, next try at {again}."
        )
        return holds(RESTARTING, "BackingOff", message)
    if running.status == "False" and has_run(observed):
        return holds(RESTARTING, "ReplacingWorkers", running.message)
    return fails(RESTARTING, "NothingToReplace", "every worker that was lost has been replaced.")


def has_run(observed: Observed) -> bool:
    """Has the job run since it was started or resumed?"""
    before = observed.status.condition(RUNNING)
    return before is not None and (before.status == "True" or before.reason == BELOW_MIN)
