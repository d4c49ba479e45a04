"""One run of the program per stack file, shared by all tests; a runner for single components."""

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from stacks.pages.stacks import recording_of, settings_of
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording, Registration, record
from stacks.stack_file import stack_names
from tests.stack.invariants.registry import version_of

with warnings.catch_warnings():
    # It deprecates one of its own classes as it is imported; we use another one.
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumi_eks  # noqa: F401

TAGS = {"project": "spotrain", "stack": "test"}
Build = Callable[[Callable[[], object]], Recording]


@pytest.fixture(params=stack_names())
def stack(request: pytest.FixtureRequest) -> str:
    """Every stack file in turn."""
    name: str = request.param
    return name


@pytest.fixture
def recording(stack: str) -> Recording:
    """What the whole program registered for the stack, after it has drained."""
    return recording_of(stack)


@pytest.fixture
def settings(stack: str) -> PlatformSettings:
    return settings_of(stack)


@pytest.fixture
def kubernetes_version(settings: PlatformSettings) -> str:
    """The version whose API server must accept the stack's objects."""
    return version_of(settings)


@pytest.fixture
def build() -> Build:
    """Run a component as a program of its own; returns once every registration has arrived."""

    def run(component: Callable[[], object]) -> Recording:
        def program() -> None:
            component()

        return record(program, project="spotrain", stack="test", config={})

    return run


@pytest.fixture
def tags() -> Mapping[str, str]:
    return TAGS


class Find:
    """Looks things up in a recording."""

    def one(self, recording: Recording, kind: str, name: str | None = None) -> Registration:
        found = [r for r in recording.of_type(kind) if name in (None, r.name)]
        assert len(found) == 1, f"{len(found)} of {kind} {name or ''}"
        return found[0]

    def policies(self, recording: Recording) -> dict[str, dict[str, Any]]:
        """Every IAM policy document of the program, by where it stands."""
        return {
            f"{resource.name}.{key}": json.loads(value)
            for resource in recording.resources
            for key, value in resource.inputs.items()
            if isinstance(value, str) and value.startswith("{") and '"Statement"' in value
        }

    def objects(self, recording: Recording) -> dict[str, dict[str, Any]]:
        """Every Kubernetes object, by its Pulumi name; the releases of charts are none."""
        return {
            f"{r.type} {r.name}": r.inputs
            for r in recording.resources
            if r.type.startswith("kubernetes:") and not r.type.startswith("kubernetes:helm.sh/")
        }


@pytest.fixture
def find() -> Find:
    return Find()
