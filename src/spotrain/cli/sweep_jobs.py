"""The jobs of a sweep. Names follow from template and values: the same sweep is known again, and
what one job has saved no other restores. Pure."""

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
from spotrain.cli.submission import container_of, output_folder, refuse_unusable
from spotrain.kinds import Object

DIGITS: Final = 8
"""Of a name's digest: two jobs of a thousand meet in one of ten thousand sweeps, and are told."""
NAME: Final = "name"
"""Stands for the job's own name, in braces as the keys do."""
VARIABLE: Final = re.compile(r"\.env\[\d+\]\.value$")
"""Path of a variable's value in a job."""
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
    code: str = "",
) -> list[Member]:
    """`template` makes the job of a name and its values; `code` is the digest of what is sent along
    for it to run. Raises UserError."""
    found: dict[str, Member] = {}
    for values in combinations:
        digest = template_digest(template(sweep, values)["spec"], code)
        name = member_name(sweep, values, digest)
        if name in found:
            raise UserError(
                f"{describe(values)} and {describe(found[name].values)} have one name, {name}, by "
                "chance; give the sweep another name."
            )
        document = joined(template(name, values), sweep, values, at_most=at_most)
        refuse_unusable(document)
        found[name] = Member(name, values, document)
    return list(found.values())


def member_name(sweep: str, values: Values, template: str) -> str:
    """The same for the same values, in whatever order they are given, in a template of one digest.

    A job's folder under output/ has its name and outlives it: a job of another template would
    restore what is not its own.
    """
    text = json.dumps([sweep, sorted(values.items()), template])
    return f"{sweep}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def joined(document: Object, sweep: str, values: Values, *, at_most: int | None) -> Object:
    """The job as one of the sweep's."""
    document = copy.deepcopy(document)
    metadata = document["metadata"]
    if at_most is not None:
        document["spec"]["sweep"] = {"atMost": at_most}
    metadata["labels"] = {**(metadata.get("labels") or {}), contract.LABEL_SWEEP: sweep}
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        contract.SWEEP_VALUES_ANNOTATION: json.dumps(values),
    }
    return document


def template_digest(spec: Mapping[str, Any], code: str) -> str:
    """Of a job's spec before it has a name and a limit, both of which tell nothing of what it does,
    and of its code."""
    text = json.dumps([spec, code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


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
        UserError: a job of the sweep that is there tries the same with another template.
    """
    there = [each for each in there if sweep_of(each)]
    known = {(sweep_of(each), frozenset(values_of(each).items())): each for each in there}
    names = {each["metadata"]["name"] for each in there}
    missing = [member for member in planned if member.name not in names]
    for member in missing:
        tried = (sweep_of(member.document), frozenset(member.values.items()))
        if tried in known:
            raise _other_template(member, known[tried])
    return missing


def _other_template(member: Member, there: Mapping[str, Any]) -> UserError:
    name, sweep = there["metadata"]["name"], sweep_of(there)
    wanted = json.loads(json.dumps(member.document["spec"]).replace(member.name, name))
    wanted.pop("sweep", None)
    what = difference(wanted, there["spec"]) or "its code, or something that was left out now"
    return UserError(
        f"{name} ({describe(member.values)}) is there already, and was sent with another "
        f"template: {what}. Give the sweep another name, or remove the old one with spotrain sweep "
        f"{sweep} --delete; its results stay, and the new jobs begin anew.",
        exit_code=CONFLICT,
    )


def difference(wanted: Any, there: Any, path: str = "spec") -> str:
    """The first thing that is wanted and is not so; empty: all is, whatever else there is.

    Values of variables are not told: some are keys, and somebody else may have set them.
    """
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        below = [(f"{path}.{key}", each, there.get(key)) for key, each in wanted.items()]
    elif isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        pairs = zip(wanted, there, strict=True)
        below = [(f"{path}[{index}]", one, other) for index, (one, other) in enumerate(pairs)]
    else:
        return "" if wanted == there else _contrast(path, wanted, there)
    return next((found for item in below if (found := difference(item[1], item[2], item[0]))), "")


def _contrast(path: str, wanted: Any, there: Any) -> str:
    if VARIABLE.search(path) or _holds_variables(wanted) or _holds_variables(there):
        return f"{path} is not the same there"
    return f"{path} is {there!r} there and {wanted!r} here"


def _holds_variables(value: Any) -> bool:
    """A container may, and all that is around one."""
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(map(_holds_variables, value))
    )


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
    container = container_of(document)
    own_folder = re.compile(rf"{re.escape(old)}(?=$|[/,:])")
    words = [own_folder.sub(output_folder(name), str(word)) for word in container.get("args") or []]
    container["args"] = fill(words, values, name)
    return with_own_output(document, template["metadata"]["name"], name)


def with_own_output(document: Object, template: str, name: str) -> Object:
    """The job told of an output that no other job of the sweep has, whatever its template says: one
    would restore what another has saved."""
    container = container_of(document)
    variables = {each["name"]: each for each in container.get("env") or []}
    given = variables.get(contract.ENV_OUTPUT, {}).get("value") or output_folder(template)
    own = {"name": contract.ENV_OUTPUT, "value": own_output(given, template, name)}
    container["env"] = list({**variables, contract.ENV_OUTPUT: own}.values())
    return document


def own_output(given: str, template: str, name: str) -> str:
    """gs://team/digits -> gs://team/digits-1f3a, and gs://team/runs -> gs://team/runs/digits-1f3a.

    `given`, a folder or a place in a bucket, is that of the template, `name` the job's. Where
    {name} stands in it, the job's name is wanted there and nowhere else.
    """
    place = f"{{{NAME}}}"
    if place in given:
        return given.replace(place, name)
    scheme, separator, path = given.rstrip("/").rpartition("://")
    parent, slash, last = path.rpartition("/")
    above = parent if slash and last in (template, name) else path
    return f"{scheme}{separator}{above}/{name}"
