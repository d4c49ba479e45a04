"""Reads the checked-in tables of facts and prices; whoever adds an entry is told what it lacks."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from stacks import yaml_text
from stacks.field_problems import section_in
from stacks.problems import Problem, SettingsError
from stacks.wording import written

Place = tuple[str | int, ...]
Errors = Sequence[Mapping[str, Any]]


class Table(BaseModel):
    """Strict, and frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Kind = TypeVar("Kind", bound=Table)


def read_table(path: Path, model: type[Kind]) -> Kind:
    """The whole table. Raises SettingsError: every entry that is wrong, with what belongs in it."""
    source = f"{path.parent.parent.name}/{path.parent.name}/{path.name}"
    document = yaml_text.read(path.read_bytes(), source)
    if document.problems:
        raise SettingsError(source, document.problems)
    try:
        return model.model_validate(document.document)
    except ValidationError as error:
        raise SettingsError(source, list(_problems(error, model, document.document))) from None


def _problems(error: ValidationError, model: type[Table], document: object) -> Iterator[Problem]:
    errors = sorted(error.errors(), key=lambda each: [str(part) for part in each["loc"]])
    for place, several in groupby(errors, key=lambda each: _entry(each["loc"], model)):
        yield _problem(place, list(several), model, document)


def _entry(location: Place, model: type[Table]) -> Place:
    """`types.g5.xlarge` for each of its fields; `regions.mars` is an entry by itself."""
    field = model.model_fields.get(str(location[0])) if location else None
    is_mapping = field is not None and str(field.annotation).startswith("dict")
    return location[: 2 if is_mapping else 1]


def _problem(place: Place, errors: Errors, model: type[Table], document: object) -> Problem:
    field = model.model_fields.get(str(place[0])) if place else None
    entry = section_in(field.annotation) if field else model
    value = document
    for part in place:
        value = value.get(part) if isinstance(value, Mapping) else None
    said = [f"{_name(each['loc'], place)}{_words(each)}" for each in errors]
    names = ", ".join(entry.model_fields) if entry else ""
    return Problem(
        path=".".join(map(str, place)) or "the file",
        value=written(value),
        rule=f"an entry with exactly: {names}" if names else "; ".join(said),
        reason="; ".join(said) if names else "shapes and prices of stacks are told from it",
        next_step="complete it after the entries beside it, with the source that the file names",
    )


def _name(location: Place, place: Place) -> str:
    rest = ".".join(map(str, location[len(place) :]))
    return f"{rest} " if rest else ""


def _words(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        return "is not known"
    told = str(error["msg"]).replace("Input should be", "must be")
    return f"is {written(error['input'])}, {told}"
