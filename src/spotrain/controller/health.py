"""Does the job run, and if not, what is it waiting for?"""

from spotrain.controller.completion import describe
from spotrain.controller.conditions import BELOW_MIN, fails, has_run, holds
from spotrain.controller.failure import Failures, limit
from spotrain.controller.model import Observed
from spotrain.controller.placement import Place
from spotrain.controller.replicas import least
from spotrain.controller.status import RESTARTING, RUNNING, Condition, ReplicaStatus
from spotrain.controller.why import refusal_reason, why
from spotrain.job import ElasticJob


def running_condition(
    job: ElasticJob, observed: Observed, *, workers: ReplicaStatus, place: Place
) -> Condition:
    """Running means that enough workers are ready to train, not that pods exist."""
    said = why(job, observed, workers=workers, place=place)
    if workers.ready >= least(job, observed.pods):
        return holds(RUNNING, "EnoughWorkers", said)
    if has_run(observed.status):
        return fails(RUNNING, BELOW_MIN, said)
    if place.obstacle:
        return fails(RUNNING, place.obstacle.reason, said)
    if observed.board.refusal:
        return fails(RUNNING, refusal_reason(observed.board.refusal), said)
    homeless = any(pod.unschedulable and not pod.deleting for pod in observed.pods)
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
    if running.status == "False" and has_run(observed.status):
        return holds(RESTARTING, "ReplacingWorkers", running.message)
    return fails(RESTARTING, "NothingToReplace", "every worker that was lost has been replaced.")
