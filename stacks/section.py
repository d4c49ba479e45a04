"""What every section of a stack file is made of."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict


class Section(BaseModel):
    """Strict and frozen; a field's docstring is its documentation and the reason in its errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def words(rule: str, next_step: str | None = None) -> dict[str, Any]:
    """What an error about a field says instead of pydantic's own words."""
    return {"rule": rule, **({"next": next_step} if next_step else {})}


Whole = Annotated[int, Strict()]
"""A number that is written as one: "8" in quotes is a mistake somewhere else."""
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
