"""What Prometheus is told of each job. Pure: the same job at the same time, the same samples.

A job's series exist as long as the job does: labels never hold what grows without bound.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from spotrain.controller.conditions import ORDER
from spotrain.controller.model import JobStatus, PodView, WorldView
from spotrain.controller.stall import allowed_seconds
from spotrain.controller.status import RUNNING
from spotrain.job import ElasticJob, JobError, Pool
from spotrain.ledger.account import Totals
from spotrain.ledger.time_split import ettr

JOB_LABELS: Final = ("namespace", "job")


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """One job, as the controller holds it."""

    namespace: str
    name: str
    job: ElasticJob | JobError
    status: JobStatus
    pods: tuple[PodView, ...] = ()
    world: WorldView | None = None
    reports_steps: bool = False
    """Does the script tell its steps? A plain one does not, and so is never said to stall."""
    pool: Pool | None = None
    """The pool to which the job is pinned, if it is known."""

    @property
    def spec(self) -> ElasticJob | None:
        return None if isinstance(self.job, JobError) else self.job


Sample = tuple[tuple[str, ...], float | None]
"""Values of a metric's own labels, and its value; None: nothing is known, nothing is said."""


@dataclass(frozen=True)
class JobMetric:
    """One metric, and how it is read off a job."""

    name: str
    help: str
    samples: Callable[[JobFacts, datetime], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    """Beside the job's own."""
    kind: Literal["gauge", "counter"] = "gauge"


def _one(read: Callable[[JobFacts], float | None]) -> Callable[[JobFacts, datetime], list[Sample]]:
    return lambda facts, _now: [((), read(facts))]


def _of_spec(
    read: Callable[[ElasticJob], float | None],
) -> Callable[[JobFacts, datetime], list[Sample]]:
    return _one(lambda facts: read(facts.spec) if facts.spec else None)


def _info(facts: JobFacts, _now: datetime) -> Iterator[Sample]:
    if facts.status.offer:
        gpu, capacity = (facts.pool.gpu, facts.pool.capacity) if facts.pool else ("", "")
        yield (facts.status.offer.pool, facts.status.offer.zone, gpu, capacity), 1


def _conditions(facts: JobFacts, _now: datetime) -> list[Sample]:
    return [((kind,), facts.status.is_true(kind)) for kind in ORDER]


def _restarts(facts: JobFacts, _now: datetime) -> list[Sample]:
    restarts = facts.status.restarts
    return [
        (("failure",), restarts.failures),
        (("disruption",), restarts.disruptions),
        (("growth",), restarts.growths),
    ]


def _running(facts: JobFacts) -> int:
    return sum(pod.ready and not pod.deleting for pod in facts.pods)


def _gpus(facts: JobFacts) -> float | None:
    return _running(facts) * facts.spec.gpus_per_worker if facts.spec else None


def _step(facts: JobFacts) -> float | None:
    if facts.world and facts.world.number:
        return facts.world.step
    return facts.status.progress.step if facts.status.progress else None


def _number(facts: JobFacts) -> float | None:
    stored = facts.status.world.number if facts.status.world else None
    return facts.world.number if facts.world else stored


def _without_progress(facts: JobFacts, now: datetime) -> Iterator[Sample]:
    """What delays a first step (waiting for nodes, forming a world) is no stall."""
    status, running = facts.status, facts.status.condition(RUNNING)
    if not facts.reports_steps or running is None or running.status != "True":
        return
    moments = (
        status.progress and status.progress.at,
        status.world and status.world.since,
        running.last_transition_time,
    )
    since = max((moment for moment in moments if moment), default=None)
    if since:
        yield (), max(0.0, (now - since).total_seconds())


def _deadline(facts: JobFacts) -> float | None:
    return allowed_seconds(facts.spec, facts.world) or None if facts.spec else None


def _moment(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def _last_stall(facts: JobFacts) -> float | None:
    stall = facts.status.last_stall
    return _moment(stall.at) if stall else None


def _totals(
    read: Callable[[Totals], float | None],
) -> Callable[[JobFacts, datetime], list[Sample]]:
    """Of the account in the job's status."""

    def told(facts: JobFacts) -> float | None:
        account = facts.status.ledger
        return read(account.totals) if account and account.totals else None

    return _one(told)


def _useful_share(facts: JobFacts) -> float | None:
    account = facts.status.ledger
    if account is None or account.totals is None:
        return None
    return ettr(account.totals, facts.status.history)


def _saved(totals: Totals) -> float | None:
    """None: nobody has named a price for the nodes."""
    paid = sum(place.estimated_usd for place in totals.places)
    return totals.list_usd - paid if totals.list_usd > 0 else None


JOB_METRICS: Final = (
    JobMetric(
        "spotrain_job_info",
        "Where the job's pods are pinned to.",
        _info,
        ("pool", "zone", "gpu", "capacity"),
    ),
    JobMetric(
        "spotrain_job_condition", "1 while the condition holds, else 0.", _conditions, ("type",)
    ),
    JobMetric(
        "spotrain_job_workers_desired",
        "Workers that the job asks for.",
        _of_spec(lambda job: job.replicas),
    ),
    JobMetric(
        "spotrain_job_workers_min",
        "Workers below which the job waits.",
        _of_spec(lambda job: job.min_replicas),
    ),
    JobMetric("spotrain_job_workers_running", "Workers that are ready to train.", _one(_running)),
    JobMetric(
        "spotrain_job_workers_unschedulable",
        "Workers for which there is no node.",
        _one(lambda facts: sum(bool(p.unschedulable) and not p.deleting for p in facts.pods)),
    ),
    JobMetric("spotrain_job_gpus", "GPUs of the workers that are ready to train.", _one(_gpus)),
    JobMetric(
        "spotrain_job_world_number",
        "Number of the last world.",
        _one(_number),
    ),
    JobMetric(
        "spotrain_job_world_size",
        "Workers that train together now.",
        _one(lambda facts: facts.world.size if facts.world else 0),
    ),
    JobMetric("spotrain_job_step", "Steps that training has done.", _one(_step)),
    JobMetric(
        "spotrain_job_without_progress_seconds",
        "Seconds since the last new step, of a job that runs and whose script reports steps.",
        _without_progress,
    ),
    JobMetric(
        "spotrain_job_progress_deadline_seconds",
        "Seconds until the next step that the job allows itself; none where it allows any.",
        _one(_deadline),
    ),
    JobMetric(
        "spotrain_job_last_stall_timestamp_seconds",
        "When a world was last restarted because it did no step any more, in Unix time.",
        _one(_last_stall),
    ),
    JobMetric(
        "spotrain_job_restarts_total",
        "Changes of the job's world by cause.",
        _restarts,
        ("cause",),
        "counter",
    ),
    JobMetric(
        "spotrain_job_useful_share",
        "Share of the time in which the job wanted to train that went into steps that were kept.",
        _one(_useful_share),
    ),
    JobMetric(
        "spotrain_job_estimated_dollars",
        "What the job has cost so far, by the controller's estimate.",
        _totals(lambda totals: totals.estimated_usd),
    ),
    JobMetric(
        "spotrain_job_saved_dollars",
        "What the same node time would have cost more on demand, by the list; useful or not.",
        _totals(_saved),
    ),
    JobMetric(
        "spotrain_job_budget_dollars",
        "What the job may cost; none where there is no limit.",
        _of_spec(lambda job: job.budget.max_dollars),
    ),
    JobMetric(
        "spotrain_job_start_timestamp_seconds",
        "When the job started, in Unix time.",
        _one(lambda facts: _moment(facts.status.start_time)),
    ),
    JobMetric(
        "spotrain_job_completion_timestamp_seconds",
        "When the job ended, in Unix time.",
        _one(lambda facts: _moment(facts.status.completion_time)),
    ),
)


def job_families(jobs: Iterable[JobFacts], now: datetime) -> Iterator[Metric]:
    """Every metric of every job, in the form that prometheus-client writes."""
    known = sorted(jobs, key=lambda facts: (facts.namespace, facts.name))
    for metric in JOB_METRICS:
        make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        family = make(metric.name, metric.help, labels=(*JOB_LABELS, *metric.labels))
        for facts in known:
            for labels, value in metric.samples(facts, now):
                if value is not None:
                    family.add_metric((facts.namespace, facts.name, *labels), float(value))
        yield family
