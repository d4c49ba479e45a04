"""Every invariant holds for every stack file, and notices when its source is broken."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml

from components.aws import policies
from components.aws.nodes import gpu_pool
from stacks.pages.stacks import GCP_QUARRY, QUARRIES, QUARRY, config_of, recording_of, settings_of
from stacks.preview import ROOT, run_program
from stacks.schema import parse
from stacks.stack_file import stack_names
from tests.stack.invariants import (
    aws_names,  # noqa: F401
    aws_nodes,  # noqa: F401
    aws_security,  # noqa: F401
    gcp_nodes,  # noqa: F401
    gcp_security,  # noqa: F401
    platform,  # noqa: F401
)
from tests.stack.invariants.changes import Mutation
from tests.stack.invariants.mutations import BY_ADDRESS_MUTATIONS, MUTATIONS
from tests.stack.invariants.registry import AWS, EVERY_CLOUD, GCP, Built
from tests.stack.invariants.table import ABSENT, COLUMNS

GCP_BY_ADDRESS = f"{GCP_QUARRY}-by-address"
"""The quarry with the other one of two ways to the API; a stack has one of them."""


@cache
def gcp_by_address() -> Built:
    config = config_of(GCP_QUARRY)
    config["settings"]["network"]["api_access"] = {"cidrs": ["198.51.100.0/24"]}
    return Built(
        name=GCP_BY_ADDRESS,
        settings=parse(config["settings"], source=GCP_BY_ADDRESS),
        recording=run_program(ROOT / "__main__.py", GCP_BY_ADDRESS, config),
    )


def built(stack: str) -> Built:
    if stack == GCP_BY_ADDRESS:
        return gcp_by_address()
    return Built(name=stack, settings=settings_of(stack), recording=recording_of(stack))


STACKS = (*stack_names(), *QUARRIES)
CHECKS = {
    "aws": {**EVERY_CLOUD, **AWS},
    "gcp": {**EVERY_CLOUD, **GCP},
    "existing": EVERY_CLOUD,
}
WHOLE = {"aws": QUARRY.stem, "gcp": GCP_QUARRY}
"""Cloud -> the stack with every option, whose recording is broken."""
ON_A_CLOUD = [
    pytest.param(stack, check, id=f"{check}-{stack}")
    for stack in STACKS
    for check in CHECKS[settings_of(stack).cloud]
] + [pytest.param(GCP_BY_ADDRESS, check, id=f"{check}-{GCP_BY_ADDRESS}") for check in CHECKS["gcp"]]


@pytest.mark.parametrize(("stack", "check"), ON_A_CLOUD)
def test_it_holds(stack: str, check: str) -> None:
    whole = built(stack)
    assert list(CHECKS[whole.settings.cloud][check](whole)) == []


@pytest.mark.parametrize(
    ("cloud", "stack", "mutation"),
    [
        pytest.param(cloud, stack, mutation, id=f"{cloud}: {mutation.invariant}: {mutation.what}")
        for by_cloud, stacks in (
            (MUTATIONS, WHOLE),
            (BY_ADDRESS_MUTATIONS, {"gcp": GCP_BY_ADDRESS}),
        )
        for cloud, stack in stacks.items()
        for mutation in by_cloud[cloud]
    ],
)
def test_a_broken_source_is_noticed(cloud: str, stack: str, mutation: Mutation) -> None:
    whole = built(stack)
    broken = Built(
        name=whole.name, settings=whole.settings, recording=copy.deepcopy(whole.recording)
    )
    mutation.change(broken.recording)
    assert list(CHECKS[cloud][mutation.invariant](broken)) != []


def test_every_invariant_has_a_mutation() -> None:
    broken = {cloud: {m.invariant for m in mutations} for cloud, mutations in MUTATIONS.items()}
    assert broken == {"aws": CHECKS["aws"].keys(), "gcp": GCP.keys()}


@pytest.mark.parametrize("cloud", COLUMNS)
def test_what_holds_on_one_cloud_holds_on_the_others_or_there_is_a_reason(cloud: str) -> None:
    """The invariants as a table, with a column a cloud."""
    everywhere = {promise for column in COLUMNS.values() for promise in column}
    assert COLUMNS[cloud].keys().isdisjoint(ABSENT[cloud])
    assert COLUMNS[cloud].keys() | ABSENT[cloud].keys() == everywhere


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
    assert list(CHECKS["aws"][invariant](wrong_built)) != []


@pytest.mark.parametrize("quarry", QUARRIES)
def test_a_quarry_switches_every_option_on(quarry: str) -> None:
    """What the shipped stacks leave off is tested all the same."""
    document = yaml.safe_load(QUARRIES[quarry].read_text())
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
