"""An ElasticJob with every default filled in, and the way to it from a document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from spotrain import contract
from spotrain.job.documents import InvalidDocument, Problem, explain, without_nulls
from spotrain.job.rules import clamped, effective_run_policy, find_problems, largest, least
from spotrain.job.spec import (
    Budget,
    Document,
    Elastic,
    Placement,
    RestartPolicy,
    RunPolicy,
    SuccessPolicy,
    Sweep,
)
from spotrain.job.template import gpus_of


class JobError(InvalidDocument):
    """An ElasticJob that cannot be used; `.problems` has (path, message) of each fault."""


@dataclass(frozen=True, kw_only=True)
class ElasticJob:
    """A job with every default filled in. `template` is what the user wrote, untouched."""

    namespace: str
    name: str
    uid: str
    generation: int
    min_replicas: int
    max_replicas: int
    replicas: int
    """Workers wanted: what was asked for, brought into min_replicas to max_replicas."""
    asked_replicas: int
    """As written; `kubectl scale` and autoscalers know no limits."""
    template: Mapping[str, Any]
    rdzv_endpoint: str
    suspend: bool
    managed_by: str
    success_policy: SuccessPolicy
    disruption_exit_codes: frozenset[int]
    pod_disruption_budget: bool
    restart_policy: RestartPolicy
    placement: Placement
    elastic: Elastic
    budget: Budget
    sweep: Sweep
    run_policy: RunPolicy
    labels: Mapping[str, str]

    @property
    def gpus_per_worker(self) -> int:
        """GPUs that one worker asks for, over all its containers; 0 for training on CPUs."""
        return sum(gpus_of(container) for container in self.template["spec"]["containers"])


def parse_job(document: Mapping[str, Any]) -> ElasticJob:
    """The job in a document of the API server or a file; JobError names every fault."""
    what = f"the {contract.KIND}"
    if not isinstance(document, Mapping):
        raise JobError(what, [Problem("", f"{document!r} is no mapping; give one {what}.")])
    cleaned = without_nulls(document, keep=frozenset({"template", "status"}))
    try:
        parsed = Document.model_validate(cleaned, by_alias=True, by_name=False)
    except ValidationError as error:
        raise JobError(what, explain(error, Document)) from None
    problems = list(find_problems(parsed))
    if problems:
        raise JobError(f"{what} {parsed.metadata.name!r}", problems)
    return _job(parsed)


def _job(parsed: Document) -> ElasticJob:
    spec, worker = parsed.spec, parsed.spec.replica_specs.worker
    return ElasticJob(
        namespace=parsed.metadata.namespace,
        name=parsed.metadata.name,
        uid=parsed.metadata.uid,
        generation=parsed.metadata.generation,
        labels=parsed.metadata.labels,
        min_replicas=least(spec),
        max_replicas=largest(spec),
        replicas=clamped(spec),
        asked_replicas=worker.replicas,
        restart_policy=worker.restart_policy,
        template=worker.template,
        rdzv_endpoint=spec.rdzv_endpoint,
        suspend=spec.suspend,
        managed_by=spec.managed_by,
        success_policy=spec.success_policy,
        disruption_exit_codes=contract.RETRYABLE_EXIT_CODES | set(spec.disruption_exit_codes),
        pod_disruption_budget=spec.pod_disruption_budget,
        placement=spec.placement,
        elastic=spec.elastic,
        budget=spec.budget,
        sweep=spec.sweep,
        run_policy=effective_run_policy(spec),
    )
