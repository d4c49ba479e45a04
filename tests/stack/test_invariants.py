"""Every invariant holds for every stack file, and notices when its source is broken."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from components.aws import policies
from components.aws.nodes import gpu_pool
from stacks.pages.stacks import QUARRY, config_of, recording_of, settings_of
from stacks.preview import ROOT, run_program
from stacks.stack_file import stack_names
from tests.stack.invariants import aws_names, aws_nodes, aws_security, platform  # noqa: F401
from tests.stack.invariants.changes import Mutation
from tests.stack.invariants.mutations import MUTATIONS
from tests.stack.invariants.registry import AWS, EVERY_CLOUD, Built


def built(stack: str) -> Built:
    return Built(name=stack, settings=settings_of(stack), recording=recording_of(stack))


STACKS = (*stack_names(), QUARRY.stem)
CHECKS = {**EVERY_CLOUD, **AWS}
ON_A_CLOUD = [
    pytest.param(stack, check, id=f"{check}-{stack}")
    for check in CHECKS
    for stack in STACKS
    if check in EVERY_CLOUD or settings_of(stack).cloud == "aws"
]


@pytest.mark.parametrize(("stack", "check"), ON_A_CLOUD)
def test_it_holds(stack: str, check: str) -> None:
    assert list(CHECKS[check](built(stack))) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.invariant}: {m.what}")
def test_a_broken_source_is_noticed(mutation: Mutation) -> None:
    whole = built(QUARRY.stem)
    broken = Built(
        name=whole.name, settings=whole.settings, recording=copy.deepcopy(whole.recording)
    )
    mutation.change(broken.recording)
    assert list(CHECKS[mutation.invariant](broken)) != []


def test_every_invariant_has_a_mutation() -> None:
    assert {mutation.invariant for mutation in MUTATIONS} == CHECKS.keys()


LINES: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    (
        "the_autoscaler_is_told_labels_taints_and_gpus_of_every_group",
        gpu_pool,
        "node_template_tags",
        lambda original: lambda *a, **k: dict(list(original(*a, **k).items())[1:]),
    ),
    (
        "jobs_are_offered_the_groups_that_exist",
        gpu_pool,
        "node_labels",
        lambda original: lambda *a, **k: {**original(*a, **k), "spotrain.dev/pool": "another"},
    ),
    (
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        gpu_pool,
        "KEEP_DESIRED_SIZE",
        lambda original: [],
    ),
    (
        "only_named_pods_and_services_assume_a_role",
        policies,
        "service_trust",
        lambda original: lambda service: original(service).replace("Service", "AWS"),
    ),
]
"""Invariant, and a line of the program's own source as it would be if it were wrong."""


@pytest.mark.parametrize(("invariant", "module", "name", "wrong"), LINES)
def test_a_wrong_line_of_the_program_is_noticed(
    invariant: str,
    module: Any,
    name: str,
    wrong: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    recording = run_program(ROOT / "__main__.py", "dev", config_of("dev"))
    wrong_built = Built(name="dev", settings=settings_of("dev"), recording=recording)
    assert list(CHECKS[invariant](wrong_built)) != []


def test_the_quarry_switches_every_option_on() -> None:
    """What the shipped stacks leave off is tested all the same."""
    document = yaml.safe_load(QUARRY.read_text())
    off = [path for path, value in leaves(document) if value in (False, 0, None, [], "none")]
    assert off == []


def leaves(node: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in leaves(value, f"{path}/{key}")]
    if isinstance(node, list) and node and isinstance(node[0], dict):
        return [leaf for item in node for leaf in leaves(item, path)]
    return [(path, node)]


def test_the_quarry_is_no_stack() -> None:
    assert QUARRY.name not in {f"Pulumi.{name}.yaml" for name in stack_names()}
