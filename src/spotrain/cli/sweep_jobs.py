"""The jobs of a sweep. Names follow from values, so that the same sweep is known again. Pure."""

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spotrain import contract
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.overrides import Values
from spotrain.cli.submission import output_folder, refuse_unusable
from spotrain.job import worker_container
from spotrain.kinds import Object

DIGITS: Final = 8
"""Of a name's digest: two jobs of a thousand meet in one of ten thousand sweeps, and are told."""
NAME: Final = "name"
"""Stands for the job's own name, in braces as the keys do."""
PLACEHOLDER: Final = re.compile(r"(?<![${])\{([A-Za-z_][\w.-]*)\}")


@dataclass(frozen=True)
class Member:
    """One job of a sweep."""

    name: str
    values: Values
    document: Object


def members(
    sweep: str,
    combinations: Iterable[Values],
    template: Callable[[str, Values], Object],
    *,
    at_most: int | None,
) -> list[Member]:
    """`template` makes the job of a name and its values. Raises UserError."""
    found: dict[str, Member] = {}
    for values in combinations:
        name = member_name(sweep, values)
        if name in found:
            raise UserError(
                f"{describe(values)} and {describe(found[name].values)} have one name, {name}, by "
                "chance; give the sweep another name."
            )
        document = joined(template(name, values), sweep, values, at_most=at_most)
        refuse_unusable(document)
        found[name] = Member(name, values, document)
    return list(found.values())


def member_name(sweep: str, values: Values) -> str:
    """The same for the same values, in whatever order they are given."""
    text = json.dumps([sweep, sorted(values.items())])
    return f"{sweep}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def joined(document: Object, sweep: str, values: Values, *, at_most: int | None) -> Object:
    """The job as one of the sweep's."""
    document = copy.deepcopy(document)
    metadata = document["metadata"]
    digest = spec_digest(document["spec"])
    if at_most is not None:
        document["spec"]["sweep"] = {"atMost": at_most}
    metadata["labels"] = {**(metadata.get("labels") or {}), contract.LABEL_SWEEP: sweep}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        contract.SWEEP_VALUES_ANNOTATION: json.dumps(values),
        contract.SWEEP_TEMPLATE_ANNOTATION: digest,
    }
    return document


def spec_digest(spec: Mapping[str, Any]) -> str:
    """Of all but how many run at once, which may change."""
    counted = {key: value for key, value in spec.items() if key != "sweep"}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:16]


def sweep_of(document: Mapping[str, Any]) -> str:
    """Empty: it belongs to none."""
    return str((document["metadata"].get("labels") or {}).get(contract.LABEL_SWEEP, ""))


def values_of(document: Mapping[str, Any]) -> dict[str, str]:
    """What a job of a sweep tries; empty where nobody wrote that down."""
    annotations = document["metadata"].get("annotations") or {}
    try:
        found = json.loads(annotations.get(contract.SWEEP_VALUES_ANNOTATION, "{}"))
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def describe(values: Values) -> str:
    """lr=0.1 batch=32."""
    return " ".join(f"{key}={value}" for key, value in values.items())


def unsent(planned: Sequence[Member], there: Iterable[Mapping[str, Any]]) -> list[Member]:
    """Those that nobody has sent yet.

    Raises:
        UserError: a job that is there has the name of one and is another.
    """
    known = {document["metadata"]["name"]: document for document in there}
    for member in planned:
        if member.name in known:
            _refuse_other(member, known[member.name])
    return [member for member in planned if member.name not in known]


def _refuse_other(member: Member, there: Mapping[str, Any]) -> None:
    annotation = contract.SWEEP_TEMPLATE_ANNOTATION
    sent = (there["metadata"].get("annotations") or {}).get(annotation)
    if sent == member.document["metadata"]["annotations"][annotation]:
        return
    path = difference(member.document["spec"], there["spec"]) or "something that was left out now"
    raise UserError(
        f"{member.name} ({describe(member.values)}) is there already, and was sent with another "
        f"template: {path}. Give the sweep another name, or remove the old one with spotrain sweep "
        f"{sweep_of(there) or member.name} --delete.",
        exit_code=CONFLICT,
    )


def difference(wanted: Any, there: Any, path: str = "spec") -> str:
    """The first thing that is wanted and is not so; empty: all is, whatever else there is."""
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        below = [(f"{path}.{key}", each, there.get(key)) for key, each in wanted.items()]
    elif isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        pairs = zip(wanted, there, strict=True)
        below = [(f"{path}[{index}]", one, other) for index, (one, other) in enumerate(pairs)]
    else:
        return "" if wanted == there else f"{path} is {there!r} there and {wanted!r} here"
    return next((found for item in below if (found := difference(item[1], item[2], item[0]))), "")


# --- Templates ------------------------------------------------------------------------------------
def fill(arguments: Sequence[str], values: Values, name: str) -> list[str]:
    """{key} becomes its value and {name} the job's name; keys that stand nowhere are appended.

    Raises:
        UserError: braces around something that is not swept.
    """
    known = {**values, NAME: name}
    used: set[str] = set()

    def replace(found: re.Match[str]) -> str:
        key = found[1]
        if key not in known:
            there = ", ".join(f"{{{each}}}" for each in known)
            raise UserError(f"{{{key}}} names nothing that is swept; there are {there}.")
        used.add(key)
        return known[key]

    filled = [PLACEHOLDER.sub(replace, word) for word in arguments]
    return filled + [f"--{key}={value}" for key, value in values.items() if key not in used]


def fill_job(template: Mapping[str, Any], name: str, values: Values) -> Object:
    """A job file as the job of that name, with a folder for its results that is its own.

    Raises:
        UserError: as `fill` does.
    """
    document = copy.deepcopy(dict(template))
    old, metadata = output_folder(template["metadata"]["name"]), document["metadata"]
    metadata["name"] = name
    pod = document["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"]
    container = pod["containers"][worker_container({"spec": pod})]
    own_folder = re.compile(rf"{re.escape(old)}(?=$|[/,:])")
    words = [own_folder.sub(output_folder(name), str(word)) for word in container.get("args") or []]
    container["args"] = fill(words, values, name)
    variables = {each["name"]: each for each in container.get("env") or []}
    variables[contract.ENV_OUTPUT] = {"name": contract.ENV_OUTPUT, "value": output_folder(name)}
    container["env"] = list(variables.values())
    return document
