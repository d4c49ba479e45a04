"""Every setting as a page.

The schema's own docstrings are the text, so that page, error messages and code cannot disagree.
"""

from collections.abc import Iterator
from ipaddress import IPv4Network
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stacks import clouds, limits
from stacks.field_problems import is_list, section_in
from stacks.problems import SETTINGS
from stacks.section import Section
from stacks.wording import in_one_line

HEAD = f"""# Configuration

One stack file an environment, `stacks/Pulumi.<stack>.yaml`, with one key:
`{SETTINGS}`. A setting that is not listed here is refused, at every level,
with the nearest name that is; so is a value that something else would break on, with the rule, the
reason and what to do. `make preview STACK=<stack>` checks a file without an account.

This page is written by `make config-reference` from `stacks/*/schema.py`.
"""
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for cloud in clouds.MODULES:
        model = clouds.settings_class(cloud)
        parts.append(f"## cloud: {cloud}\n\n{_text(model.__doc__)}\n")
        parts.extend(_sections(model, cloud, ()))
    return "\n".join(parts)


def _sections(model: type[BaseModel], cloud: str, path: tuple[str, ...]) -> Iterator[str]:
    """One table a section, the section before what is in it."""
    title = f"### {cloud}: {'.'.join(path)}\n\n{_text(model.__doc__)}\n" if path else ""
    rows = [_row(name, field, cloud, path) for name, field in model.model_fields.items()]
    table = ["| setting | value | default | meaning |", "| --- | --- | --- | --- |", *rows]
    yield "\n".join([title, *table, ""] if title else [*table, ""])
    for name, field in model.model_fields.items():
        if inner := section_in(field.annotation):
            suffix = "[]" if is_list(field.annotation) else ""
            yield from _sections(inner, cloud, (*path, name + suffix))


def _row(name: str, field: FieldInfo, cloud: str, path: tuple[str, ...]) -> str:
    inner = section_in(field.annotation)
    value = _values(field.annotation, field) + limits.said(field)
    if inner:
        suffix = "[]" if is_list(field.annotation) else ""
        title = f"{cloud}: {'.'.join((*path, name + suffix))}"
        kind = "list of sections" if suffix else "section"
        value = f"[{kind}](#{_anchor(title)})"
    return f"| `{name}` | {value} | {_default(field)} | {_text(field.description)} |"


def _values(annotation: Any, field: FieldInfo | None = None) -> str:
    """What may be written, in the words of a stack file."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation is IPv4Network:
        return "IPv4 block"
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in inside)
    if origin is Annotated:
        rule = next((w for part in inside[1:] if (w := _rule(part))), None)
        return rule or _values(inside[0])
    if origin in (Union, UnionType):
        return " or ".join(_values(part) for part in inside if part is not NoneType)
    if origin is tuple:
        return f"list of: {_values(inside[0])}"
    if origin is dict:
        return f"mapping of {_values(inside[0])} to {_values(inside[1])}"
    rule = _rule(field) if field else None
    return rule or WORDS.get(annotation, "section")


def _rule(part: object) -> str | None:
    extra = part.json_schema_extra if isinstance(part, FieldInfo) else None
    rule = extra.get("rule") if isinstance(extra, dict) else None
    return rule if isinstance(rule, str) else None


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value is PydanticUndefined or value in ((), {}):
        return "none"
    if isinstance(value, Section):
        return "see there"
    return f"`{_yaml(value)}`"


def _yaml(value: object) -> str:
    """A default as a stack file would have it."""
    plain = list(map(str, value)) if isinstance(value, tuple) else value
    plain = str(plain) if isinstance(plain, IPv4Network) else plain
    return in_one_line(plain)


def _text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    """As GitHub makes it from a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
