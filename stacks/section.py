"""What every section of a stack file is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict

from stacks.problems import NotKnown


class Section(BaseModel):
    """Strict and frozen; a field's docstring is its documentation and the reason in its errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Asked only for what is not there: in a whole section that is no field."""
            if name in type(self).model_fields:
                raise NotKnown(name)
            return super().__getattr__(name)


@dataclass(frozen=True)
class Meant:
    """Beside a pattern: what to write instead of a text that it refuses, where that can be told."""

    by: Callable[[str], str | None]


def words(rule: str, next_step: str | None = None) -> dict[str, Any]:
    """What an error about a field says instead of pydantic's own words."""
    return {"rule": rule, **({"next": next_step} if next_step else {})}


def as_text(value: object) -> object:
    """True and numbers as they are written; others take true for 1, and 5 for 0.0.0.5."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Block = Annotated[IPv4Network, BeforeValidator(as_text)]
Whole = Annotated[int, Strict()]
"""A number that is written as one: "8" in quotes is a mistake somewhere else."""
Amount = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A number with a fraction, if need be."""
Flag = Annotated[bool, Strict()]

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]{0,28}[a-z0-9]$",
        json_schema_extra=words("2 to 30 lower-case letters, digits and '-', a letter first"),
    ),
]
Digest = Annotated[
    str,
    Field(
        pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$",
        json_schema_extra=words("an image reference that ends in @sha256:<64 hex digits>"),
    ),
]
Email = Annotated[
    str,
    Field(
        pattern=r"^[^\s@]+@[^\s@]+\.[^\s@]+$",
        json_schema_extra=words("an e-mail address"),
    ),
]
