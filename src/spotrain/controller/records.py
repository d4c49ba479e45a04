"""What was seen, entered into the status. What was decided is entered only where a repetition
would count it twice: pods that this controller removes end by its own hand."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from spotrain import contract
from spotrain.controller.conditions import holds, set_conditions
from spotrain.controller.disruption import Disruptions
from spotrain.controller.failure import Failures
from spotrain.controller.model import DeletePod, JobStatus, Observed, PodView
from spotrain.controller.network import labels
from spotrain.controller.outdated import is_renewed
from spotrain.controller.progress import report
from spotrain.controller.status import CREATED, ReplicaStatus
from spotrain.controller.suspend import is_resuming
from spotrain.job import ElasticJob


def record(
    job: ElasticJob,
    observed: Observed,
    *,
    disruptions: Disruptions,
    failures: Failures,
    now: datetime,
) -> JobStatus:
    """The status brought up to what is there now."""
    before, view = observed.status, observed.world
    # Of a suspended job whose last world has ended nobody will tell a later step.
    is_last = job.suspend and view is not None and view.size == 0
    seen = report(observed, now, last=is_last)
    taken = {pod.uid for pod, _ in disruptions.fresh}
    fresh = taken | {pod.uid for pod in failures.fresh}
    status = replace(
        before,
        observed_generation=job.generation,
        start_time=before.start_time or now,
        replica_statuses={contract.WORKER: tally(observed.pods)},
        selector=",".join(f"{key}={value}" for key, value in labels(job).items()),
        world=seen.world,
        progress=seen.progress,
        restarts=replace(
            before.restarts,
            failures=failures.total,
            disruptions=before.restarts.disruptions + len(disruptions.fresh),
            growths=seen.growths,
            in_place=max(before.restarts.in_place, view.restarts if view else 0),
        ),
        attempt=before.attempt + (is_resuming(job, observed) or is_renewed(job, observed)),
        last_failure=failures.mark,
        last_disruption=disruptions.mark,
        counted_pods=_present({*before.counted_pods, *fresh}, observed),
    )
    created = holds(CREATED, "JobCreated", "the controller has taken up the job.")
    return set_conditions(status, created, generation=job.generation, now=now)


def tally(pods: Iterable[PodView]) -> ReplicaStatus:
    """Pods by what they are good for; those on their way out are good for nothing."""
    here = [pod for pod in pods if not pod.deleting]
    return ReplicaStatus(
        active=sum(pod.phase in ("Pending", "Running") for pod in here),
        ready=sum(pod.phase == "Running" and pod.ready for pod in here),
        succeeded=sum(pod.phase == "Succeeded" for pod in here),
        failed=sum(pod.phase == "Failed" for pod in here),
    )


def remember_removals(
    status: JobStatus, observed: Observed, removals: Iterable[DeletePod]
) -> JobStatus:
    """Pods that we remove end with a signal too; that is no disruption to count."""
    uids = {*status.counted_pods, *(removal.uid for removal in removals)}
    return replace(status, counted_pods=_present(uids, observed))


def _present(uids: set[str], observed: Observed) -> tuple[str, ...]:
    return tuple(sorted(uids & {pod.uid for pod in observed.pods}))
