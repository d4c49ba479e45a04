"""What one field alone cannot say about an ElasticJob: rules between fields."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from spotrain import contract
from spotrain.job.documents import MAX_NAME, Problem, explain
from spotrain.job.spec import Document, RunPolicy, Spec
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
    return spec.min_replicas or spec.replica_specs.worker.replicas


def largest(spec: Spec) -> int:
    """maxReplicas, which upstream lets default to the replicas wanted."""
    return spec.max_replicas or spec.replica_specs.worker.replicas


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
    low, high, replicas = least(spec), largest(spec), spec.replica_specs.worker.replicas
    bounds = f"minReplicas {low} to maxReplicas {high}"
    if low > high:
        message = f"{low} is above maxReplicas, {high}; lower it or raise spec.maxReplicas."
        yield Problem("spec.minReplicas", message)
        return
    if not low <= replicas <= high:
        given = "replicas" in spec.replica_specs.worker.model_fields_set
        said = str(replicas) if given else f"{replicas} (the default)"
        yield Problem(f"{WORKER_PATH}.replicas", f"{said} lies outside {bounds}; set it between.")
    for index, size in enumerate(spec.elastic.allowed_replicas):
        if not low <= size <= high:
            path = f"spec.elastic.allowedReplicas[{index}]"
            yield Problem(
                path, f"{size} lies outside {bounds}, so no world can have it; remove it."
            )


def _template_problems(spec: Spec) -> Iterator[Problem]:
    try:
        Template.model_validate(spec.replica_specs.worker.template)
    except ValidationError as error:
        yield from explain(error, Template, f"{WORKER_PATH}.template")
