"""What one field alone cannot say about an ElasticJob: rules between fields."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from spotrain import contract
from spotrain.job.documents import MAX_NAME, Problem, explain
from spotrain.job.spec import MAX_REPLICAS, Document, RunPolicy, Spec
from spotrain.job.template import Template, worker_name

WORKER_PATH = f"spec.replicaSpecs.{contract.WORKER}"


def find_problems(parsed: Document) -> Iterator[Problem]:
    """Every fault of a document whose single fields are right."""
    yield from _name_problems(parsed)
    yield from _size_problems(parsed.spec)
    yield from _template_problems(parsed.spec)
    yield from _run_policy_problems(parsed.spec)


def least(spec: Spec) -> int:
    """minReplicas, which upstream lets default to the replicas wanted."""
    replicas = spec.replica_specs.worker.replicas
    return spec.min_replicas or min(replicas, spec.max_replicas or replicas)


def largest(spec: Spec) -> int:
    """maxReplicas, which upstream lets default to the replicas wanted."""
    replicas = spec.replica_specs.worker.replicas
    return spec.max_replicas or max(replicas, spec.min_replicas or replicas)


def clamped(spec: Spec) -> int:
    """The replicas wanted, within the job's limits.

    Whoever scales a job (`kubectl scale`, an autoscaler) does not know them; refusing the number
    would leave the old one in force, which is further from what was wanted than the limit is.
    """
    return min(max(spec.replica_specs.worker.replicas, least(spec)), largest(spec))


def effective_run_policy(spec: Spec) -> RunPolicy:
    """One policy out of the three spellings."""
    given = {name: _spellings(spec, name) for name in RunPolicy.model_fields}
    return RunPolicy(**{name: next(iter(of.values())) for name, of in given.items() if of})


def _spellings(spec: Spec, name: str) -> dict[str, Any]:
    """Path -> value of each place where a field of the run policy is given."""
    alias = RunPolicy.model_fields[name].alias
    places: dict[str, RunPolicy | None] = {
        "spec": spec,
        "spec.RunPolicy": spec.upper_run_policy,
        "spec.runPolicy": spec.run_policy,
    }
    return {
        f"{place}.{alias}": getattr(policy, name)
        for place, policy in places.items()
        if policy and name in policy.model_fields_set
    }


def _run_policy_problems(spec: Spec) -> Iterator[Problem]:
    for name in RunPolicy.model_fields:
        given = _spellings(spec, name)
        if any(value != next(iter(given.values())) for value in given.values()):
            said = ", ".join(f"{path} is {value!r}" for path, value in given.items())
            yield Problem(next(iter(given)), f"{said}: spellings of one field; keep one of them.")


def _name_problems(parsed: Document) -> Iterator[Problem]:
    name = parsed.metadata.name
    longest = worker_name(name, largest(parsed.spec) - 1)
    excess = len(longest) - MAX_NAME
    if excess > 0:
        message = (
            f"{name!r} makes pods such as {longest!r} of {len(longest)} characters, and a pod's "
            f"name is a host name of at most {MAX_NAME}; shorten it by {excess}."
        )
        yield Problem("metadata.name", message)


def _size_problems(spec: Spec) -> Iterator[Problem]:
    low, high = least(spec), largest(spec)
    if low > high:
        message = f"{low} is above maxReplicas, {high}; lower it or raise spec.maxReplicas."
        yield Problem("spec.minReplicas", message)
        return
    if spec.success_policy == "AllWorkers" and low != high:
        message = (
            f"'AllWorkers' needs minReplicas equal to maxReplicas, not {low} and {high}: a worker "
            "that joins late has nothing left to finish; set AnyWorker, or one fixed size."
        )
        yield Problem("spec.successPolicy", message)
    # Limits that only follow from `replicas` move with it, and scaling must never break a job.
    low, high = spec.min_replicas or 1, spec.max_replicas or MAX_REPLICAS
    for index, size in enumerate(spec.elastic.allowed_replicas):
        if not low <= size <= high:
            path = f"spec.elastic.allowedReplicas[{index}]"
            bounds = f"minReplicas {low} to maxReplicas {high}"
            yield Problem(
                path, f"{size} lies outside {bounds}, so no world can have it; remove it."
            )


def _template_problems(spec: Spec) -> Iterator[Problem]:
    try:
        Template.model_validate(spec.replica_specs.worker.template)
    except ValidationError as error:
        yield from explain(error, Template, f"{WORKER_PATH}.template")
