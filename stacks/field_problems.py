"""A field that pydantic refuses, as a Problem in the words of the stack file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from stacks import clouds, wording
from stacks.clouds import CloudSupport
from stacks.examples import where_to_look
from stacks.other_words import of_a_pool
from stacks.problems import UNSET, Problem, dotted, unknown_setting
from stacks.section import Meant

Location = tuple[str | int, ...]
NO_REASON = "the stack cannot be built from it"
SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z`])")
LONGEST_REASON = 200


def from_pydantic(error: ValidationError, cloud: CloudSupport) -> list[Problem]:
    """One problem an entry, with the field's own docstring as the reason."""
    entries = error.errors()
    places = [entry["loc"] for entry in entries]
    return [
        _problem(entry, cloud.settings, cloud.example)
        for entry in entries
        if not (entry["type"] == "too_short" and _any_below(entry["loc"], places))
    ]


def _any_below(location: Location, places: Sequence[Location]) -> bool:
    """pydantic counts only the right entries of a list, so one wrong entry makes it too short."""
    depth = len(location)
    return any(place[:depth] == location and len(place) > depth for place in places)


def _problem(entry: Mapping[str, Any], model: type[BaseModel], example: str) -> Problem:
    location: Location = tuple(entry["loc"])
    path = dotted(location)
    if entry["type"] == "extra_forbidden":
        owner = _model_at(model, location[:-1])
        known = owner.model_fields if owner else ()
        if others := _clouds_that_know(location, model):
            return _of_another_cloud(path, entry["input"], others, known)
        name = str(location[-1])
        unknown = unknown_setting(path, wording.written(entry["input"]), name, known)
        step = of_a_pool(name, known) if location[0] == "pools" else None
        return replace(unknown, next_step=step) if step else unknown
    field = _field_at(model, location)
    missing = entry["type"] == "missing" or _left_empty(entry, field)
    look = where_to_look(location, example)
    required = ("required; it has no default", f"add {path}; {look}")
    rule, next_step = required if missing else wording.of(entry, field, _hint(field, "rule"), look)
    specific = None if missing else _meant(entry, field) or wording.correction(entry, field)
    return Problem(
        path=path,
        value=UNSET if missing else wording.written(entry["input"]),
        rule=rule,
        reason=reason(field.description if field else None),
        next_step=specific or _hint(field, "next") or next_step,
    )


def _clouds_that_know(location: Location, model: type[BaseModel]) -> list[str]:
    """The other clouds that have a setting of this name in this place."""
    others = [cloud for cloud in clouds.SCHEMAS if clouds.settings_class(cloud) is not model]
    owners = {cloud: _model_at(clouds.settings_class(cloud), location[:-1]) for cloud in others}
    return [c for c, owner in owners.items() if owner and location[-1] in owner.model_fields]


def _of_another_cloud(
    path: str, value: object, others: Sequence[str], known: Iterable[str]
) -> Problem:
    return Problem(
        path=path,
        value=wording.written(value),
        rule=f"a setting of cloud: {' and '.join(others)}, and of no other",
        reason="a stack is built on one cloud, and what another one has would change nothing there",
        next_step=f"remove it; here it may be {', '.join(sorted(known))}",
    )


def _left_empty(entry: Mapping[str, Any], field: FieldInfo | None) -> bool:
    """`api_access:` with nothing behind it."""
    named = bool(entry["loc"]) and isinstance(entry["loc"][-1], str)
    return named and entry["input"] is None and field is not None and field.is_required()


def _marks(field: FieldInfo | None) -> list[object]:
    """What stands beside a type, on the field or inside `Digest | None`."""
    if field is None:
        return []
    inside = [part for a in get_args(field.annotation) for part in get_args(a)]
    return [field, *field.metadata, *inside]


def _hint(field: FieldInfo | None, key: str) -> str | None:
    """The schema's own words (section.words)."""
    extras = [each.json_schema_extra for each in _marks(field) if isinstance(each, FieldInfo)]
    values = (extra.get(key) for extra in extras if isinstance(extra, dict))
    return next((value for value in values if isinstance(value, str)), None)


def _meant(entry: Mapping[str, Any], field: FieldInfo | None) -> str | None:
    if entry["type"] != "string_pattern_mismatch":
        return None
    told = (each.by(entry["input"]) for each in _marks(field) if isinstance(each, Meant))
    return next((step for step in told if step), None)


def reason(text: str | None) -> str:
    """The first sentences of a docstring, as many as are quickly read."""
    first, *others = SENTENCE_END.split(" ".join((text or NO_REASON).split()))
    for sentence in others:
        if len(first) + len(sentence) >= LONGEST_REASON:
            break
        first = f"{first} {sentence}"
    return first


def _field_at(model: type[BaseModel], location: Sequence[str | int]) -> FieldInfo | None:
    names = [i for i, part in enumerate(location) if isinstance(part, str)]
    if not names:
        return None
    owner = _model_at(model, location[: names[-1]])
    return owner.model_fields.get(str(location[names[-1]])) if owner else None


def _model_at(model: type[BaseModel], location: Sequence[str | int]) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int) or current is None:
            continue
        field = current.model_fields.get(part)
        current = section_in(field.annotation) if field else None
    return current


def section_in(annotation: object) -> type[BaseModel] | None:
    """The section inside `Section`, `Section | None` or `tuple[Section, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for a in get_args(annotation) if (found := section_in(a))), None)


def is_list(annotation: object) -> bool:
    """Whether it is `tuple[Section, ...]`, or that or nothing."""
    return get_origin(annotation) is tuple or any(is_list(a) for a in get_args(annotation))
