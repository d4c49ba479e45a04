"""A job in words: one line of it, and the facts below that line."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from spotrain.cli.job_view import JobView
from spotrain.cli.wording import ago, count, dollars, ettr, rate, span
from spotrain.controller.status import RUNNING, Restarts

OLD_SECONDS: Final = 60.0
"""Sums of the controller that are as old say so: it writes them where something happens."""
MOST_METRICS: Final = 3
"""Of what the script tells, in the line of progress; the report draws them all."""


def headline(seen: JobView) -> str:
    """digits: Running, 3 of 3 workers, world 4, step 1,234."""
    step = seen.status.progress.step if seen.status.progress else 0
    return ", ".join([news(seen), *([f"step {step:,}"] if step else [])])


def course(seen: JobView) -> str:
    """The headline, and how it goes: ..., 41.3 steps/s, loss 0.01234, 5 min left."""
    parts = [headline(seen)]
    if seen.steps_per_second:
        parts.append(f"{rate(seen.steps_per_second)} steps/s")
    parts += _metrics(seen)
    if seen.seconds_left is not None and not seen.status.finished:
        parts.append(f"{span(seen.seconds_left)} left")
    return ", ".join(parts)


def news(seen: JobView) -> str:
    """What of the headline changes only when something happens."""
    status = seen.status
    parts = [f"{seen.name}: {seen.state}"]
    if not status.finished:
        ready = status.workers.ready
        wanted = f"{ready} of {count(seen.job.replicas, 'worker')}" if seen.job else ""
        parts.append(wanted or count(ready, "worker"))
    if status.world:
        parts.append(f"world {status.world.number}")
    return ", ".join(parts)


def facts(seen: JobView, now: datetime) -> Iterator[tuple[str, str]]:
    """What is known of the job, each with its word; nothing is said of what is not."""
    status = seen.status
    yield "state", _state(seen, now)
    if seen.job:
        yield "workers", _workers(seen)
    if status.offer:
        zone = status.offer.zone or "any zone"
        until, since = status.completion_time or now, status.offer.since
        spent = f", for {span((until - since).total_seconds())}" if since else ""
        yield "place", f"{status.offer.pool}, {zone}{spent}"
    if status.world:
        members = count(status.world.size, "worker")
        formed = ago(status.world.since, now)
        yield "world", f"number {status.world.number}, {members}, formed {formed}"
    if status.progress and (status.progress.step or status.progress.metrics):
        yield "progress", _progress(seen, now)
        if seen.seconds_left is not None:
            steps = count(status.progress.steps_left or 0, "step")
            yield "left", f"{span(seen.seconds_left)}, if it goes on as now: {steps}"
    yield "restarts", restarts(status.restarts)
    if (split := seen.split(now)) and split.wanted_seconds > 0:
        yield "ETTR", ettr(seen.ettr(now))
    if seen.totals:
        yield "cost", _cost(seen, now)
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
    said = [f"{seen.status.workers.ready} of {job.replicas} ready"]
    if job.min_replicas < job.max_replicas:
        said.append(f"{job.min_replicas} to {job.max_replicas} allowed")
    if job.gpus_per_worker:
        said.append(gpus_each(seen))
    return ", ".join(said)


def gpus_each(seen: JobView) -> str:
    """1 x T4 each; of this machine on paper, whatever it has."""
    assert seen.job
    gpu = (seen.job.placement.gpu or "GPU").upper()
    return f"{seen.job.gpus_per_worker} x {gpu} each{', on paper' if seen.is_local else ''}"


def _progress(seen: JobView, now: datetime) -> str:
    progress = seen.status.progress
    assert progress
    said = f"step {progress.step:,}, {ago(progress.at, now)}"
    if seen.steps_per_second:
        said += f"; {rate(seen.steps_per_second)} steps/s"
    if seen.samples_per_second:
        said += f", {rate(seen.samples_per_second)} samples/s"
    return "; ".join([said, *_metrics(seen)])


def _metrics(seen: JobView) -> list[str]:
    """loss 0.01234, of the first few that the script has told."""
    progress = seen.status.progress
    told = (progress.metrics if progress else None) or {}
    return [f"{name} {value:.4g}" for name, value in list(told.items())[:MOST_METRICS]]


def _cost(seen: JobView, now: datetime) -> str:
    totals = seen.totals
    assert totals
    said = dollars(totals.estimated_usd)
    if not seen.status.finished:
        is_old = (now - totals.until).total_seconds() >= OLD_SECONDS
        said += f", as of {ago(totals.until, now)}" if is_old else " so far"
    if totals.list_usd:
        said += f"; the same nodes on demand {dollars(totals.list_usd)}"
    return said
