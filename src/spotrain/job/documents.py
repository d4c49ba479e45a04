"""Documents that people write: the base of their types, and what is wrong with them.

Every problem names the field's path, its value, the rule and what to do. Pydantic finds most of
them; this module says them in our words, with the field's own description as the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

MAX_NAME: Final = 63
"""A pod's name is also its host name and a label value."""
DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
LONGEST_VALUE: Final = 80
"""Of a value that a message quotes: enough to find it again."""
Name = Annotated[str, Field(pattern=DNS_LABEL, max_length=MAX_NAME)]


class Section(BaseModel):
    """One mapping of a document: camelCase there, snake_case here, frozen, nothing unknown."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )


class Problem(NamedTuple):
    path: str
    message: str


class InvalidDocument(ValueError):
    """A document that cannot be used. Base of the refusals of jobs and pools."""

    def __init__(self, what: str, problems: Sequence[tuple[str, str]]) -> None:
        self.problems: list[tuple[str, str]] = list(problems)
        lines = [f"  {path}: {message}" if path else f"  {message}" for path, message in problems]
        super().__init__("\n".join([f"{what} cannot be used:", *lines]))


def explain(error: ValidationError, model: type[BaseModel], prefix: str = "") -> list[Problem]:
    """Pydantic's findings on `model` as problems; `prefix` is the path of the model's document."""
    return [_problem(detail, model, prefix) for detail in error.errors(include_url=False)]


def join(prefix: str, *parts: str | int) -> str:
    """`spec`, `zones`, 0 -> `spec.zones[0]`."""
    path = prefix
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def without_nulls(value: Any, keep: frozenset[str] = frozenset()) -> Any:
    """An explicit null means an absent field, as it does at the API server; not below `keep`."""
    if isinstance(value, Mapping):
        return {
            key: item if key in keep else without_nulls(item, keep)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [without_nulls(item, keep) for item in value]
    return value


# Pydantic's kind of error -> what we say; {reason} is the field's own description.
_SAYINGS: Final[Mapping[str, str]] = {
    "missing": "is missing{reason}; add it.",
    "literal_error": "{value} is not one of {expected}{reason}; use one of these.",
    "greater_than_equal": "{value} is below the least, {ge}{reason}; raise it.",
    "less_than_equal": "{value} is above the most, {le}{reason}; lower it.",
    "greater_than": "{value} must be above {gt}{reason}; raise it.",
    "string_pattern_mismatch": "{value} may hold lower-case letters, digits and inner '-' only"
    "{reason}; rename it.",
    "string_too_long": "{value} has more than {max_length} characters{reason}; shorten it.",
    "too_short": "{value} holds fewer than {min_length}{reason}; add one.",
    "value_error": "{value} {error}",
}


def _problem(detail: ErrorDetails, model: type[BaseModel], prefix: str) -> Problem:
    *parents, name = detail["loc"] or ("",)
    kind, value = detail["type"], detail["input"]
    owner = _model_at(model, parents)
    field = _fields(owner).get(str(name)) if owner else None
    reason = f" ({field.description})" if field and field.description else ""
    said = _shortened(value)
    if kind == "extra_forbidden":
        message = _unknown(str(name), owner or model, model, prefix)
    elif kind in _SAYINGS:
        message = _SAYINGS[kind].format(value=said, reason=reason, **detail.get("ctx", {}))
    elif kind.endswith("_type"):
        message = f"{said} is {_kind_of(value)}, not {_wanted(kind)}{reason}; correct it."
    else:
        message = f"{said}: {detail['msg']}{reason}; correct it."
    return Problem(join(prefix, *detail["loc"]), message)


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "..."


def _unknown(name: str, owner: type[BaseModel], root: type[BaseModel], prefix: str) -> str:
    here = list(_fields(owner))
    elsewhere = [path for path, leaf in _paths(root, prefix) if leaf.lower() == name.lower()]
    by_lower = {known.lower(): known for known in here}
    near = get_close_matches(name.lower(), by_lower, n=1)
    guess = by_lower[name.lower()] if name.lower() in by_lower else next(iter(elsewhere), "")
    guess = guess or (by_lower[near[0]] if near else "")
    hint = f"did you mean {guess!r}?" if guess else f"known here: {', '.join(sorted(here))}."
    return f"unknown field {name!r}; {hint} Rename or remove it."


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _paths(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in _fields(model).items():
        path = join(prefix, name)
        yield path, name
        below = _model_in(field.annotation)
        if below:
            yield from _paths(below, path)


def _model_at(model: type[BaseModel], parents: Sequence[str | int]) -> type[BaseModel] | None:
    """The model that owns the last part of a location, or None where no model does."""
    found: type[BaseModel] | None = model
    for part in parents:
        if isinstance(part, int):
            continue
        field = _fields(found).get(part) if found else None
        found = _model_in(field.annotation) if field else None
    return found


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for arg in get_args(annotation) if (m := _model_in(arg))), None)


def _kind_of(value: Any) -> str:
    kinds = {bool: "true or false", str: "text", int: "a number", float: "a number with a point"}
    kinds |= {dict: "a mapping", list: "a list", type(None): "nothing"}
    return kinds.get(type(value), f"of type {type(value).__name__}")


def _wanted(kind: str) -> str:
    wanted = {"int_type": "a whole number", "bool_type": "true or false", "string_type": "text"}
    wanted |= {
        "dict_type": "a mapping",
        "list_type": "a list",
        "float_type": "a number",
        "tuple_type": "a list",
        "model_type": "a mapping",
    }
    return wanted.get(kind, kind.removesuffix("_type"))
