"""pydantic's kinds of error, said about a stack file: the rule, and what to write instead."""

import math
import re
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from stacks import number_wording
from stacks.problems import dotted, suggestion

Entry = Mapping[str, Any]
WIDEST_VALUE = 90
COUNTS = {1: "one", 2: "two"}
SECTIONS = ("model_type", "dict_type")


def of(
    entry: Entry, field: FieldInfo | None, pattern_rule: str | None, look: str
) -> tuple[str, str]:
    """Rule and next step. `pattern_rule`: what the pattern means; `look`: where it is set."""
    rule = _rule(entry, field)
    if entry["type"] == "string_pattern_mismatch":
        rule = pattern_rule or rule
    path = dotted(entry["loc"])
    if entry["input"] is None:
        return rule, f"give {path} a value, or remove the line"
    if entry["type"] in SECTIONS:
        return rule, f"write settings below {path}; {look}"
    if entry["type"] == "too_short":
        return rule, f"add to {path}; {look}"
    return rule, f"set {path} to {rule}"


def _rule(entry: Entry, field: FieldInfo | None) -> str:
    kind, given = entry["type"], entry["input"]
    if kind in ("too_short", "too_long"):
        return _length(entry)
    if kind in number_wording.KINDS:
        return number_wording.rule(field)
    if kind == "literal_error":
        return f"one of: {', '.join(_choices(entry))}"
    if kind == "string_type":
        return f"a text, not {_kind(given)}"
    words = {
        "tuple_type": "a list",
        "ip_v4_network": "an IPv4 block without host bits, like 10.0.0.0/16",
        "bool_parsing": "true or false",
        "bool_type": "true or false",
        **dict.fromkeys(SECTIONS, "a section with settings of its own"),
    }
    return words.get(kind, str(entry["msg"]))


def correction(entry: Entry, field: FieldInfo | None) -> str | None:
    """What this very value should have been, where it can be told."""
    given = entry["input"]
    if entry["type"] in number_wording.KINDS:
        return number_wording.correction(entry, field)
    if entry["type"] == "literal_error":
        return _choice(given, _choices(entry))
    if entry["type"] == "ip_v4_network":
        return _block(given, one_of_many=isinstance(entry["loc"][-1], int))
    if entry["type"] == "tuple_type":
        return _as_list(entry)
    if entry["type"] == "string_type":
        return _as_text(entry)
    if entry["type"] == "string_pattern_mismatch":
        lower = str(given).lower()
        return f"write {lower}" if re.search(entry["ctx"]["pattern"], lower) else None
    return None


def _choices(entry: Entry) -> list[str]:
    """In the order of numbers, where they are numbers, else of the alphabet."""
    expected = str(entry["ctx"]["expected"])
    found = expected.replace("'", "").replace(" or ", ", ").split(", ")
    return sorted(found, key=lambda each: (int(each) if each.isdigit() else 0, each))


def _choice(given: object, choices: list[str]) -> str:
    if all(choice.isdigit() for choice in choices):
        return number_wording.choice(given, choices)
    if all(choice.replace(".", "").isdigit() for choice in choices):  # Kubernetes versions
        quoted = " or ".join(f'"{choice}"' for choice in choices)
        why = "" if isinstance(given, str) else "; YAML reads 1.30 without them as 1.3"
        return f"write {quoted}, with the quotes{why}"
    if isinstance(given, str):
        return suggestion(given, choices)
    return f"write {' or '.join(choices)}"


def _block(given: object, *, one_of_many: bool) -> str:
    """A list names who, so one address may be meant; a single block is a size."""
    try:
        block = IPv4Network(str(given), strict=False)
    except ValueError:
        return "write an IPv4 address and a prefix length, like 203.0.113.7/32 or 10.0.0.0/16"
    address = str(given).split("/")[0]
    meant = f"{address}/32 or {block}" if one_of_many else str(block)
    return f"has host bits; did you mean {meant}?"


def _as_list(entry: Entry) -> str | None:
    given, name = entry["input"], _name(entry)
    if isinstance(given, str):
        items = ", ".join(item.strip() for item in given.split(",") if item.strip())
        return f"write a list: {name}: [{items}]"
    if isinstance(given, dict):
        return f"start each entry of {name} with '- '"
    return None


def _as_text(entry: Entry) -> str | None:
    given = entry["input"]
    if isinstance(given, list) and len(given) == 1:
        return f"write it without brackets: {_name(entry)}: {given[0]}"
    if isinstance(given, list):
        return f"keep one, without brackets: {_name(entry)}: <one of them>"
    if isinstance(given, bool | int | float):
        return f'YAML reads it as {_kind(given)}; write it in quotes: "{written(given)}"'
    return None


def _length(entry: Entry) -> str:
    short = entry["type"] == "too_short"
    limit: int = entry["ctx"]["min_length" if short else "max_length"]
    things = _name(entry).replace("_", " ")
    things = things.removesuffix("s") if limit == 1 else things
    return f"at {'least' if short else 'most'} {COUNTS.get(limit, limit)} {things}"


def _name(entry: Entry) -> str:
    """`zones` for pools[0].zones, and for pools[0].zones[1]."""
    return next((part for part in reversed(entry["loc"]) if isinstance(part, str)), "the entry")


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    named = {list: "a list", dict: "a section", bool: "true or false"}
    return named.get(type(value), "a number" if isinstance(value, int | float) else "a date")


def written(value: object) -> object:
    """A value as YAML has it, not as Python does; in quotes where it would be a number without."""
    if value is None:
        return "(empty)"
    if isinstance(value, str):
        return f'"{value}"' if _needs_quotes(value) else value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    text = in_one_line(value)
    return text if len(text) <= WIDEST_VALUE else f"{text[:WIDEST_VALUE]} ..."


def in_one_line(value: object) -> str:
    """A value as YAML that can stand behind a key."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


def _needs_quotes(text: str) -> bool:
    kind = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return str(kind) != "tag:yaml.org,2002:str"
