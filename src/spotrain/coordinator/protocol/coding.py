"""Between messages and text. Input from the network is hostile, and every field is checked."""

import contextlib
import json
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any

from spotrain.coordinator.protocol.messages import FromAgent, FromCoordinator

MAX_INTEGER = 2**53 - 1
"""The largest that every reader of JSON, the API server among them, takes for the same number."""


class ProtocolError(ValueError):
    """A message that no peer of a supported version sends."""


def wire_type(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


FROM_AGENT = {wire_type(kind): kind for kind in typing.get_args(FromAgent)}
FROM_COORDINATOR = {wire_type(kind): kind for kind in typing.get_args(FromCoordinator)}


def encode(message: Any) -> str:
    return json.dumps({"type": wire_type(type(message)), **asdict(message)}, allow_nan=False)


@dataclass
class Ignored:
    """What a newer peer has said, and nobody here knows."""

    types: int = 0
    fields: int = 0


def decode(text: str | bytes, kinds: Mapping[str, type], ignored: Ignored | None = None) -> Any:
    """The message in `text`, or None for a type that is not among `kinds`.

    What is not known is counted in `ignored`, but for what lies within other fields.

    Raises:
        ProtocolError: not JSON, not an object, or a field that is missing or of a wrong type.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not a JSON message: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("type"), str):
        raise ProtocolError("a message is a JSON object with a text field 'type'")
    kind, ignored = kinds.get(document["type"]), ignored or Ignored()
    if kind is None:
        ignored.types += 1
        return None
    ignored.fields += len(document.keys() - _hints(kind).keys() - {"type"})
    return _build(kind, document, document["type"])


def _finite(value: int | float, where: str) -> float:
    with contextlib.suppress(OverflowError):
        if math.isfinite(number := float(value)):
            return number
    raise ProtocolError(f"{where}: {str(value)[:80]} is no finite number")


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, which no other program could read or store
        raise ProtocolError(f"{where}: {ascii(value)[:80]} is not Unicode") from None
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _build(kind: type, document: Mapping[str, Any], where: str) -> Any:
    values: dict[str, Any] = {}
    hints = _hints(kind)
    for item in fields(kind):
        if item.name in document:
            path = f"{where}.{item.name}"
            values[item.name] = _check(document[item.name], hints[item.name], path)
    try:
        return kind(**values)
    except TypeError as error:
        raise ProtocolError(f"{where}: {error}") from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _check(value: Any, hint: Any, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _check(value, args[0], where)
    if origin is tuple and isinstance(value, list):
        return tuple(_check(item, args[0], f"{where}[{i}]") for i, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {
            _text(key, where): _check(item, args[1], f"{where}.{key}")
            for key, item in value.items()
        }
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _build(hint, value, where)
    if hint is float and type(value) in (int, float):
        return _finite(value, where)
    if hint is int and type(value) is int and abs(value) > MAX_INTEGER:
        raise ProtocolError(f"{where}: {str(value)[:80]} is beyond {MAX_INTEGER}")
    if hint is str and type(value) is str:
        return _text(value, where)
    if isinstance(hint, type) and type(value) is hint:
        return value
    name = getattr(hint, "__name__", str(hint))
    raise ProtocolError(f"{where}: {str(value)[:80]!r} is not a {name}")
