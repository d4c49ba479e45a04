"""What people are told, once each: events speak of changes, conditions of how things are."""

from collections.abc import Iterator

from spotrain.controller.completion import Verdict, describe
from spotrain.controller.disruption import Disruptions
from spotrain.controller.failure import Failures, limit
from spotrain.controller.model import Event, Observed
from spotrain.controller.outdated import is_renewed
from spotrain.controller.placement import Place
from spotrain.controller.stall import Stalling
from spotrain.controller.status import RUNNING, SUCCEEDED
from spotrain.controller.suspend import is_resuming
from spotrain.controller.why import REFUSED, describe_offer, describe_past, refused
from spotrain.job import ElasticJob


def training_events(
    job: ElasticJob,
    observed: Observed,
    *,
    disruptions: Disruptions,
    failures: Failures,
    place: Place,
    stall: Stalling,
) -> Iterator[Event]:
    if is_resuming(job, observed):
        yield Event("Normal", "Resumed", "the job takes up nodes again.")
    if job.replicas != job.asked_replicas and is_new_spec(job, observed):
        yield Event("Warning", "ScaleClamped", _clamped(job))
    if is_renewed(job, observed):
        yield Event("Normal", "WorkersRenewed", "the job has changed; its workers are made anew.")
    if stall.is_new and stall.restart:
        said = f"{stall.restart.message}; restarting it from its last checkpoint."
        yield Event("Warning", "WorldStalled", said)
    if stall.finding:
        yield Event("Warning", "RanksBehind", stall.finding)
    for pod, cause in disruptions.fresh:
        message = (
            f"{pod.name} was taken away ({cause}) and will be replaced; no failure is counted."
        )
        yield Event("Normal", "Disrupted", message)
    if failures.is_new and failures.total <= limit(job):
        said = f"{describe(failures.fresh[0])}; failure {failures.total} of {limit(job)} forgiven."
        yield Event("Warning", "ElasticJobRestarting", said)
    elif failures.is_new:
        said = (
            f"{describe(failures.fresh[0])} and is not replaced, as only {limit(job)} failures are "
            f"forgiven; the others train on while {job.min_replicas} can be had."
        )
        yield Event("Warning", "WorkerGivenUp", said)
    if place.is_new and place.offer:
        moved = f"{describe_past(place.left)}; " if place.left else ""
        said = f"{moved}workers go to pool {describe_offer(place.offer)}."
        yield Event("Normal", "OfferChosen", said)
    before = observed.status.condition(RUNNING)
    known = before.message if before else ""
    if place.obstacle and place.obstacle.message not in known:
        yield Event("Warning", place.obstacle.reason, place.obstacle.message)
    refusal = refused(observed)
    if refusal and REFUSED not in known:  # its numbers change with every try
        yield Event("Warning", refusal.reason, refusal.message)


def is_new_spec(job: ElasticJob, observed: Observed) -> bool:
    return observed.status.observed_generation != job.generation


def _clamped(job: ElasticJob) -> str:
    return (
        f"replicas is {job.asked_replicas}, outside minReplicas {job.min_replicas} to maxReplicas "
        f"{job.max_replicas}; taken as {job.replicas}."
    )


def end_event(verdict: Verdict) -> Event:
    if verdict.kind == SUCCEEDED:
        return Event("Normal", "ElasticJobSucceeded", verdict.message)
    return Event("Warning", "ElasticJobFailed", f"{verdict.reason}: {verdict.message}")
