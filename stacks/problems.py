"""What is wrong with a stack file, in four parts: value, rule, reason, next step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

import pulumi
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

UNSET = "(not set)"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that a person must change."""

    path: str
    value: object
    rule: str
    reason: str
    next_step: str

    def __str__(self) -> str:
        return (
            f"  {self.path}: {self.value}\n"
            f"    rule    {self.rule}\n"
            f"    reason  {self.reason}\n"
            f"    next    {self.next_step}"
        )


class SettingsError(pulumi.RunError):
    """A stack file that cannot be used. Pulumi prints a RunError without a traceback."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        count = f": {len(problems)} problem{'s' if len(problems) > 1 else ''}" if problems else ""
        super().__init__("\n".join([f"{source}{count}", *map(str, problems)]))
        self.problems = tuple(problems)


def suggestion(word: str, known: Iterable[str]) -> str:
    """The next step for a name that nobody knows."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    listed = f"known here: {', '.join(names)}"
    return f"did you mean {close[0]!r}? {listed}" if close else listed


def from_pydantic(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """One problem an entry, with the field's own docstring as the reason."""
    return [_problem(entry, model) for entry in error.errors()]


def _problem(entry: Mapping[str, Any], model: type[BaseModel]) -> Problem:
    location: tuple[str | int, ...] = tuple(entry["loc"])
    path = dotted(location)
    if entry["type"] == "extra_forbidden":
        owner = _model_at(model, location[:-1])
        return Problem(
            path=path,
            value=entry["input"],
            rule="no setting has this name",
            reason="a setting that nobody reads changes nothing, so a typo would go unnoticed",
            next_step=suggestion(str(location[-1]), owner.model_fields if owner else ()),
        )
    field = _field_at(model, location)
    missing = entry["type"] == "missing"
    rule = "required; it has no default" if missing else _hint(field, "rule") or entry["msg"]
    return Problem(
        path=path,
        value=UNSET if missing else entry["input"],
        rule=rule,
        reason=_sentence(field.description) if field else "the stack cannot be built from it",
        next_step=_hint(field, "next") or _next_step(entry, path),
    )


def _next_step(entry: Mapping[str, Any], path: str) -> str:
    if entry["type"] in ("string_type", "literal_error") and isinstance(entry["input"], float):
        return f'YAML reads it as a number; write it in quotes: "{entry["input"]}"'
    if entry["type"] == "literal_error":
        choices = str(entry["ctx"]["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        return suggestion(str(entry["input"]), choices)
    return f"set {path} to a value that fits the rule"


def dotted(location: Sequence[str | int]) -> str:
    """('pools', 0, 'zones') -> pools[0].zones"""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "spotrain:settings"


def _hint(field: FieldInfo | None, key: str) -> str | None:
    extra = field.json_schema_extra if field else None
    value = extra.get(key) if isinstance(extra, dict) else None
    return value if isinstance(value, str) else None


def _sentence(text: str | None) -> str:
    return " ".join((text or "the stack cannot be built from it").split())


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
        current = _section(field.annotation) if field else None
    return current


def _section(annotation: object) -> type[BaseModel] | None:
    """The section inside `Section`, `Section | None` or `tuple[Section, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for a in get_args(annotation) if (found := _section(a))), None)
