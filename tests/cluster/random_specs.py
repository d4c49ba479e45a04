"""Random ElasticJobs: drawn from the CRD's own schema, whole ones and broken ones."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.controller.builders import document
from tests.test_crd import SCHEMA

T = TypeVar("T")
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
CONTAINER: Final = {"name": "elasticjob-worker", "image": "img"}
TEMPLATES: Final = st.sampled_from(
    [
        {"spec": {"containers": [CONTAINER]}},
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [CONTAINER]}},
        {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER, {"name": "log"}]}},
        {"spec": {"containers": [{"name": "x", "env": [{"value": "nameless"}]}]}},
        {"spec": {"containers": [{"name": "x"}], "tolerations": [{"operator": "Exists"}]}},
    ]
)
USUAL: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    # Numbers that mostly fit each other, or nearly every job would be refused.
    "minReplicas": st.sampled_from([1, 1, 1, 2]),
    "maxReplicas": st.sampled_from([2, 3, 3, 3]),
    "replicas": st.sampled_from([2, 2, 2, 3, 1]),
    "allowedReplicas": st.sampled_from([[], [], [2], [2, 3]]),
    "successPolicy": st.sampled_from(["AnyWorker", "AnyWorker", "AllWorkers"]),
    "managedBy": st.sampled_from(["", "", "", "kueue.x-k8s.io/multikueue"]),
    "ttlSecondsAfterFinished": st.sampled_from([0, 60]),
    "activeDeadlineSeconds": st.sampled_from([600]),
    "template": TEMPLATES,
}


def values(schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Anything that the schema allows, by its types and ranges."""
    if name in USUAL:
        return USUAL[name]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return _objects(schema)
        case "array":
            return st.lists(values(schema["items"]), max_size=2)
        case "integer":
            least = schema.get("minimum", 0)
            return st.integers(least, min(schema.get("maximum", least + 900), least + 900))
        case "number":
            return st.floats(0.5, 100)
        case "boolean":
            return st.booleans()
        case _:
            return st.sampled_from(["a", "t4"] if "pattern" in schema else ["", "host:2379"])


def _objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {key: values(below, key) for key, below in schema.get("properties", {}).items()}
    required = {key: fields.pop(key) for key in schema.get("required", []) if key in fields}
    return st.fixed_dictionaries(required, optional=fields)


def _jobs(spec: dict[str, Any]) -> dict[str, Any]:
    return {**document(), "spec": spec}


anything: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
whole: Final = values(SCHEMA["properties"]["spec"], "spec").map(_jobs)


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    """A job with one slip somewhere in its spec."""
    job = {**document(), "spec": copy.deepcopy(draw(whole)["spec"])}
    at, key = draw(st.sampled_from(_places(job["spec"])))
    at[key] = draw(anything)
    return job


def _places(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        below: list[tuple[Any, Any]] = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    else:
        return []
    return [(value, key) for key, _ in below] + [p for _, item in below for p in _places(item)]


def draw_some(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """The same examples at every run."""
    found: list[T] = []

    def collect(example: T) -> None:
        found.append(json.loads(json.dumps(example)))

    run: Callable[[], None] = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )(given(strategy)(collect))
    run()
    return found
