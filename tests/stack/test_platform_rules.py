"""What holds on every cloud, broken once."""

from typing import Any

import pytest

from spotrain import contract
from stacks import schema
from stacks.problems import SettingsError
from stacks.recorder import Recording
from stacks.stack_file import read_config, stack_names

ANY_STACK = pytest.mark.parametrize("name", stack_names())


def with_namespace(stack: str, namespace: str) -> dict[str, Any]:
    return {**read_config(stack)["settings"], "jobs": {"namespace": namespace}}


@ANY_STACK
@pytest.mark.parametrize(
    "namespace",
    [
        "default",
        "kube-system",
        "kube-public",
        "kube-anything",
        contract.SYSTEM_NAMESPACE,
        contract.MONITORING_NAMESPACE,
    ],
)
def test_jobs_cannot_live_among_the_clusters_own_services(name: str, namespace: str) -> None:
    with pytest.raises(SettingsError) as refused:
        schema.parse(with_namespace(name, namespace), source="x")
    (problem,) = refused.value.problems
    assert (problem.path, problem.value) == ("jobs.namespace", namespace)
    assert contract.JOB_NAMESPACE in problem.next_step


@ANY_STACK
@pytest.mark.parametrize("namespace", ["vision", "kubeflow", "default-jobs"])
def test_any_other_namespace_is_taken(name: str, namespace: str) -> None:
    settings = schema.parse(with_namespace(name, namespace), source="x")
    assert settings.jobs.namespace == namespace


def test_no_namespace_in_which_the_program_puts_things_can_be_that_of_jobs(
    stack: str, recording: Recording
) -> None:
    used = {
        str(namespace)
        for resource in recording.resources
        for key in ("metadata", "namespace")
        if (value := resource.inputs.get(key))
        and (namespace := value.get("namespace") if isinstance(value, dict) else value)
    }
    ours = recording.outputs["jobNamespace"]
    for namespace in used - {ours}:
        with pytest.raises(SettingsError):
            schema.parse(with_namespace(stack, namespace), source="x")
