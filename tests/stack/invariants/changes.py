"""Ways to break a recording: what the program would register if a line of it were wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stacks.recorder import Recording, Registration
from tests.stack.invariants.registry import pod_of

Change = Callable[[Recording], None]


@dataclass(frozen=True)
class Mutation:
    invariant: str
    what: str
    change: Change


def _first(recording: Recording, kind: str, name: str) -> Registration:
    """The first resource of a kind whose name starts so."""
    return next(r for r in recording.resources if r.type.endswith(kind) and r.name.startswith(name))


def put(kind: str, name: str, path: str, value: object) -> Change:
    """Sets inputs a.b.0.c of a resource."""

    def change(recording: Recording) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        node: Any = _first(recording, kind, name).inputs
        for part in parents:
            node = node[part]
        node[last] = value

    return change


def drop(kind: str, name: str, path: str) -> Change:
    """Removes inputs a.b.0.c of a resource."""

    def change(recording: Recording) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        node: Any = _first(recording, kind, name).inputs
        for part in parents:
            node = node[part]
        del node[last]

    return change


def remove(kind: str, name: str) -> Change:
    """The resource is never registered."""
    return lambda recording: recording.resources.remove(_first(recording, kind, name))


def forget_to_wait(kind: str, name: str, part: str) -> Change:
    """A depends_on is missing."""

    def change(recording: Recording) -> None:
        resource = _first(recording, kind, name)
        resource.depends_on = tuple(urn for urn in resource.depends_on if part not in urn)

    return change


def alter(kind: str, name: str, **attributes: object) -> Change:
    """Another resource option."""

    def change(recording: Recording) -> None:
        resource = _first(recording, kind, name)
        for attribute, value in attributes.items():
            setattr(resource, attribute, value)

    return change


def replace(kind: str, name: str, key: str, old: str, new: str) -> Change:
    """Another text inside a JSON input."""

    def change(recording: Recording) -> None:
        inputs = _first(recording, kind, name).inputs
        assert old in inputs[key], f"{old} is not in {name}.{key}"
        inputs[key] = inputs[key].replace(old, new, 1)

    return change


def twice(kind: str, name: str) -> Change:
    """A name is used for two resources."""
    return lambda recording: recording.resources.append(_first(recording, kind, name))


def on_container(kind: str, name: str, change: Callable[[dict[str, Any]], object]) -> Change:
    """Something about the first container of a workload."""

    def apply(recording: Recording) -> None:
        pod = pod_of(_first(recording, kind, name).inputs)
        assert pod is not None
        change(pod["containers"][0])

    return apply
