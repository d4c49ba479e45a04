"""What is said of a number that is none, or is not allowed."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic.fields import FieldInfo

from stacks import limits

KINDS = (
    "finite_number",
    "float_parsing",
    "float_type",
    "greater_than",
    "greater_than_equal",
    "int_from_float",
    "int_parsing",
    "int_type",
    "less_than_equal",
)
"""pydantic's, of numbers."""
AMOUNT = re.compile(r"\s*[$€]?\s*(\d[\d,_ ]*(?:\.\d+)?)\s*(?:[$€%]|usd|eur|dollars?)?\s*", re.I)
"""A number as people write it: $8,000."""


def rule(field: FieldInfo | None) -> str:
    """The kind of number, and its limits."""
    kind = "a number" if field and not limits.is_whole(field) else "a whole number"
    return kind + limits.said(field)


def correction(entry: Mapping[str, Any], field: FieldInfo | None) -> str | None:
    """The number that was meant, where it can be told."""
    given = entry["input"]
    if isinstance(given, float) and math.isfinite(given) and entry["type"] == "int_type":
        return f"write {round(given)}" if given.is_integer() else None
    if not isinstance(given, str) or not (amount := AMOUNT.fullmatch(given)):
        return None
    meant = re.sub("[,_ ]", "", amount[1])
    if field and limits.is_whole(field) and not meant.isdigit():
        return None
    quotes = ", without the quotes" if meant == given.strip() else ", the number alone"
    return f"write {meant}{quotes}"


def choice(given: object, choices: Sequence[str]) -> str:
    """Of several numbers, those that are near; `choices` are whole numbers."""
    numbers = sorted(map(int, choices))
    if isinstance(given, str) and given in choices:
        return f"write {given}, without the quotes"
    if not isinstance(given, int):
        return f"write one of them, such as {numbers[len(numbers) // 2]}"
    below = [number for number in numbers if number < given][-1:]
    above = [number for number in numbers if number > given][:1]
    return f"write {' or '.join(map(str, below + above))}"
