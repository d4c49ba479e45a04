"""What people are told, once each: events speak of changes, conditions of how things are."""

from collections.abc import Iterator

from spotrain.controller.completion import Verdict, describe
from spotrain.controller.disruption import Disruptions
from spotrain.controller.failure import Failures, limit
from spotrain.controller.model import Event, Observed
from spotrain.controller.placement import Place
from spotrain.controller.status import RUNNING, SUCCEEDED
from spotrain.controller.suspend import is_resuming
from spotrain.job import ElasticJob


def training_events(
    job: ElasticJob,
    observed: Observed,
    *,
    disruptions: Disruptions,
    failures: Failures,
    place: Place,
) -> Iterator[Event]:
    if is_resuming(job, observed):
        yield Event("Normal", "Resumed", "the job takes up nodes again.")
    for pod in disruptions.fresh:
        cause = pod.reason or (f"exit code {pod.exit_code}" if pod.exit_code else "disruption")
        message = (
            f"{pod.name} was taken away ({cause}) and will be replaced; no failure is counted."
        )
        yield Event("Normal", "Disrupted", message)
    if failures.is_new:
        said = f"{describe(failures.fresh[0])}; failure {failures.total} of {limit(job)} forgiven."
        yield Event("Warning", "ElasticJobRestarting", said)
    if place.is_new and place.offer:
        pool, zone = place.offer.pool, place.offer.zone or "any zone"
        price = f", ${pool.usd_per_hour:.3f} a node and hour" if pool.usd_per_hour else ""
        said = f"workers go to pool {pool.name}, {zone} ({pool.capacity}{price})."
        yield Event("Normal", "OfferChosen", said)
    before = observed.status.condition(RUNNING)
    if place.obstacle and place.obstacle.message not in (before.message if before else ""):
        yield Event("Warning", place.obstacle.reason, place.obstacle.message)


def end_event(verdict: Verdict) -> Event:
    if verdict.kind == SUCCEEDED:
        return Event("Normal", "ElasticJobSucceeded", verdict.message)
    return Event("Warning", "ElasticJobFailed", f"{verdict.reason}: {verdict.message}")
