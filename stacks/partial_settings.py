"""What is right of settings that are wrong somewhere, so that the rules can judge it already."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from stacks.field_problems import is_list, section_in
from stacks.section import Section

Kind = TypeVar("Kind", bound=Section)


def partial(model: type[Kind], given: Mapping[str, object]) -> Kind:
    """A section in which whatever is wrong, or misspelled, raises NotKnown when it is asked for."""
    fields = model.model_fields
    strangers = [str(key) for key in given if key not in fields]
    meant = {name for key in strangers for name in get_close_matches(key, fields)}
    known = {}
    for name, field in fields.items():
        if name in given:
            known.update(_known(name, field, given[name]))
        elif name not in meant and not field.is_required():
            known[name] = field.get_default(call_default_factory=True, validated_data={})
    made = cast(Kind, model.model_construct(**known))
    for name in fields.keys() - known.keys():
        made.__dict__.pop(name, None)  # model_construct falls back to the default
    return made


def _known(name: str, field: FieldInfo, value: object) -> dict[str, Any]:
    """The field's value, or what is right of it, or nothing."""
    kind: Any = field.annotation
    if field.metadata:
        kind = Annotated[kind, *field.metadata]
    try:
        return {name: TypeAdapter[object](kind).validate_python(value)}
    except ValidationError:
        inner = section_in(field.annotation)
    if inner is None:
        return {}
    if isinstance(value, dict) and not is_list(field.annotation):
        return {name: partial(_section(inner), value)}
    if isinstance(value, list) and value and is_list(field.annotation):
        parts = [item if isinstance(item, dict) else {} for item in value]
        return {name: tuple(partial(_section(inner), part) for part in parts)}
    return {}


def _section(model: type[BaseModel]) -> type[Section]:
    assert issubclass(model, Section), "settings are made of nothing else"
    return model
