"""The limits of a number, as people say them."""

from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo


def is_whole(field: FieldInfo) -> bool:
    """Whether the field is a whole number, as opposed to one with a fraction."""
    return float not in _types(field.annotation)


def said(field: FieldInfo | None) -> str:
    """` from 1 to 20`, ` of at least 0`, ` above 0, at most 10,000,000`; or nothing."""
    marks = [*field.metadata, *_inside(field.annotation)] if field else []
    found = {
        name: getattr(mark, name)
        for mark in marks
        for name in ("ge", "gt", "le")
        if hasattr(mark, name)
    }
    low, above, high = (found.get(name) for name in ("ge", "gt", "le"))
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}"
    if low is not None:
        return f" of at least {low:,}"
    if above is not None:
        return f" above {above:,}" + (f", at most {high:,}" if high is not None else "")
    return f" of at most {high:,}" if high is not None else ""


def _inside(annotation: Any) -> list[Any]:
    """The marks inside `Annotated[int, Field(ge=0)] | None`."""
    if get_origin(annotation) is not Annotated:
        return [mark for part in get_args(annotation) for mark in _inside(part)]
    first, *marks = get_args(annotation)
    fields = [mark for mark in marks if isinstance(mark, FieldInfo)]
    return [*_inside(first), *marks, *(each for field in fields for each in field.metadata)]


def _types(annotation: Any) -> set[Any]:
    parts = get_args(annotation)
    return {annotation}.union(*(_types(part) for part in parts)) if parts else {annotation}
