"""Whether AWS's own models know a command line: its operation, its options, and what it picks out
of the answer. botocore has the models; nothing is asked of AWS."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import botocore.session  # type: ignore[import-untyped]
import jmespath  # type: ignore[import-untyped]
from botocore import xform_name

OF_THE_COMMAND_LINE = {("s3", "sync"), ("logs", "tail"), ("eks", "update-kubeconfig")}
"""Commands that the AWS command line adds to the operations of services."""
GLOBAL = {"region", "query", "output", "profile"}
Shape = Any
"""Of botocore; None where nothing is known of a value."""


@cache
def _session() -> Any:
    return botocore.session.get_session()


@cache
def _operations(service: str) -> dict[str, Any]:
    """Name on the command line -> model."""
    model = _session().get_service_model(service)
    return {xform_name(name, "-"): model.operation_model(name) for name in model.operation_names}


def faults(words: Sequence[str]) -> Iterator[str]:
    """What is wrong with `aws <service> <operation> --option value ...`."""
    _, service, operation, *rest = words
    if (service, operation) in OF_THE_COMMAND_LINE:
        return
    if service not in _session().get_available_services():
        yield f"no service {service}"
    elif operation not in _operations(service):
        yield f"no operation {operation} of {service}"
    else:
        yield from _option_faults(_operations(service)[operation], _options(rest))


def _options(words: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for word in words:
        if word.startswith("--"):
            last = found.setdefault(word[2:], [])
        else:
            last.append(word)
    return found


def _option_faults(operation: Any, options: dict[str, list[str]]) -> Iterator[str]:
    shape = operation.input_shape
    members = shape.members if shape else {}
    known = {xform_name(name, "-"): member for name, member in members.items()}
    for name, values in options.items():
        if name in GLOBAL:
            continue
        if name not in known and name.removeprefix("no-") not in known:
            yield f"no option --{name} of {operation.name}"
        elif (member := known.get(name)) is not None:
            yield from (f"--{name} is none of {member.enum}: {v}" for v in _strange(member, values))
    if options and "..." not in str(options):
        required = {xform_name(name, "-") for name in (shape.required_members if shape else ())}
        yield from (f"{operation.name} needs --{name}" for name in required - options.keys())
    for query in options.get("query", []):
        yield from _answer(jmespath.compile(query).parsed, operation.output_shape)[1]


def _strange(member: Shape, values: Sequence[str]) -> list[str]:
    choices = getattr(member, "enum", [])
    return [value for value in values if choices and value not in choices]


def _answer(node: dict[str, Any], shape: Shape) -> tuple[Shape, list[str]]:
    """The shape of what an expression picks out of a value, and what that value does not have."""
    kind, children = node["type"], node["children"]
    match kind:
        case "field":
            return _member(node["value"], shape)
        case "identity" | "current":
            return shape, []
        case "subexpression" | "index_expression" | "pipe":
            wrong = []
            for child in children:
                shape, found = _answer(child, shape)
                wrong += found
            return shape, wrong
        case "index":
            return _element(shape), []
        case "flatten":
            return _answer(children[0], shape)
        case "projection" | "filter_projection":
            several, wrong = _answer(children[0], shape)
            for child in children[1:]:
                wrong += _answer(child, _element(several))[1]
            return several, wrong
        case "function_expression" if node["value"] in ("sort_by", "max_by", "min_by"):
            several, wrong = _answer(children[0], shape)
            return several, wrong + _answer(children[1]["children"][0], _element(several))[1]
        case _:
            return None, [fault for child in children for fault in _answer(child, shape)[1]]


def _member(name: str, shape: Shape) -> tuple[Shape, list[str]]:
    if shape is None or shape.type_name == "map":
        return None, []
    if shape.type_name != "structure" or name not in shape.members:
        return None, [f"{shape.name} has no {name}"]
    return shape.members[name], []


def _element(shape: Shape) -> Shape:
    return shape.member if shape is not None and shape.type_name == "list" else None
