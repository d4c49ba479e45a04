"""A job in words: one line of it, and the facts below that line."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from spotrain.cli.job_view import JobView
from spotrain.cli.wording import UNTOLD_STEPS, ago, count, dollars, percent, rate, span
from spotrain.controller.status import RUNNING, Restarts

MOST_METRICS: Final = 3
"""Of what the script tells, in the line of progress; the report draws them all."""


def headline(seen: JobView) -> str:
    """digits: Running, 3 of 3 workers, world 4, step 1,234."""
    status = seen.status
    parts = [f"{seen.name}: {seen.state}"]
    if not status.finished:
        wanted = f" of {seen.job.replicas}" if seen.job else ""
        parts.append(f"{status.workers.ready}{wanted} workers")
    if status.world:
        parts.append(f"world {status.world.number}")
    if status.progress:
        parts.append(f"step {status.progress.step:,}")
    return ", ".join(parts)


def facts(seen: JobView, now: datetime) -> Iterator[tuple[str, str]]:
    """What is known of the job, each with its word; nothing is said of what is not."""
    status = seen.status
    yield "state", _state(seen, now)
    if seen.job:
        yield "workers", _workers(seen)
    if status.offer:
        zone = status.offer.zone or "any zone"
        since = (
            f", for {span((now - status.offer.since).total_seconds())}"
            if status.offer.since
            else ""
        )
        yield "place", f"{status.offer.pool}, {zone}{since}"
    if status.world:
        members = count(status.world.size, "worker")
        formed = ago(status.world.since, now)
        yield "world", f"number {status.world.number}, {members}, formed {formed}"
    if status.progress:
        yield "progress", _progress(seen, now)
        if seen.seconds_left is not None:
            steps = count(status.progress.steps_left or 0, "step")
            yield "left", f"{span(seen.seconds_left)}, if it goes on as now: {steps}"
    yield "restarts", restarts(status.restarts)
    if seen.useful_share is not None:
        share = percent(seen.useful_share)
        yield "useful", f"{share} of the time since it wanted to train (ETTR)"
    elif seen.tells_no_steps:
        yield "useful", UNTOLD_STEPS
    if seen.totals:
        yield "cost", _cost(seen)
    if status.last_stall:
        stall = status.last_stall
        said = stall.message or "no rank could be asked why"
        yield "last hang", f"{ago(stall.at, now)}, world {stall.world}: {said}"
    if status.last_disruption:
        taken = status.last_disruption
        node = f" on {taken.node}" if taken.node else ""
        yield "last loss", f"{ago(taken.at, now)}, {taken.pod}{node}: {taken.reason}"
    why = seen.why
    if why and why.message and not _is_whole(seen):
        yield "why", why.message


def _is_whole(seen: JobView) -> bool:
    """Does it run with all its workers? Then there is nothing to explain."""
    workers = seen.job.replicas if seen.job else None
    return seen.state == RUNNING and seen.status.workers.ready == workers


def restarts(counted: Restarts) -> str:
    causes = [
        (counted.failures + counted.in_place, "failure"),
        (counted.disruptions, "disruption"),
        (counted.growths, "growth"),
    ]
    said = [count(number, noun) for number, noun in causes if number]
    return ", ".join(said) or "none"


def _state(seen: JobView, now: datetime) -> str:
    status = seen.status
    if status.completion_time:
        return f"{seen.state}, {ago(status.completion_time, now)}"
    why = seen.why
    since = why.last_transition_time if why else None
    return f"{seen.state} for {span((now - since).total_seconds())}" if since else seen.state


def _workers(seen: JobView) -> str:
    job = seen.job
    assert job
    ready = f"{seen.status.workers.ready} of {job.replicas} ready"
    limits = f"{job.min_replicas} to {job.max_replicas} allowed"
    gpu = (job.placement.gpu or "GPU").upper() if job.gpus_per_worker else ""
    each = f", {job.gpus_per_worker} x {gpu} each" if gpu else ""
    return f"{ready}, {limits}{each}"


def _progress(seen: JobView, now: datetime) -> str:
    progress = seen.status.progress
    assert progress
    said = f"step {progress.step:,}, {ago(progress.at, now)}"
    if seen.steps_per_second:
        said += f"; {rate(seen.steps_per_second)} steps/s"
    if seen.samples_per_second:
        said += f", {rate(seen.samples_per_second)} samples/s"
    told = list((progress.metrics or {}).items())[:MOST_METRICS]
    return said + "".join(f"; {name} {value:.4g}" for name, value in told)


def _cost(seen: JobView) -> str:
    totals = seen.totals
    assert totals
    said = f"{dollars(totals.estimated_usd)} so far"
    if totals.list_usd:
        said += f"; the same nodes on demand {dollars(totals.list_usd)}"
    return said
