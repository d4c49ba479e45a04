"""What agents and coordinator say to each other: JSON objects over one websocket per agent.

Every message is a frozen dataclass; its class name in snake_case is the `type` on the wire. Input
from the network is hostile: `decode` checks every field's type, ignores fields and message types
that it does not know (a newer peer may send them), and raises `ProtocolError` for anything else.
"""

import contextlib
import json
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any

VERSION = 1
SUPPORTED = frozenset({1})
"""A coordinator serves agents of its own and the previous version."""
MAX_MESSAGE_BYTES = 64 * 1024


class ProtocolError(ValueError):
    """A message that no peer of a supported version sends."""


@dataclass(frozen=True, kw_only=True)
class SeatInfo:
    id: str
    address: str
    ranks: int


@dataclass(frozen=True, kw_only=True)
class CheckpointInfo:
    world: int
    step: int


# --- Both ways --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NewWorld:
    """Coordinator: enter this world. Agent, within its hello: this is the world I am in."""

    number: int
    seats: tuple[SeatInfo, ...]
    store_port: int
    restore: CheckpointInfo | None = None


# --- From the agent ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Hello:
    version: int
    job: str
    pod: str
    address: str
    ranks: int
    uses_session: bool | None = None
    """Whether the script speaks through the training library; None: not known yet."""
    world: NewWorld | None = None
    """On reconnection: the world that the ranks are in."""
    finished: bool = False
    """Together with `world`: its ranks have ended training in it."""
    leaving_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class UsesSession:
    value: bool


@dataclass(frozen=True, kw_only=True)
class Starting:
    world: int = 0
    """The last world that the agent has heard of; what it says of an older one is stale."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    port: int
    survivor: bool = False
    world: int = 0
    """As in `Starting`."""
    floor: int = 0
    """The newest world that has published a checkpoint in the output."""


@dataclass(frozen=True, kw_only=True)
class FloorFound:
    number: int


@dataclass(frozen=True, kw_only=True)
class Leaving:
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Drained:
    world: int


@dataclass(frozen=True, kw_only=True)
class Failed:
    world: int
    hard: bool
    message: str = ""
    excused: bool = False


@dataclass(frozen=True, kw_only=True)
class Finished:
    world: int


@dataclass(frozen=True, kw_only=True)
class Commit:
    world: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Saved:
    world: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """State of training at rank 0 of a world, twice a second at most, and at its first step."""

    world: int
    step: int
    """Global steps done, over all worlds."""
    epoch: int
    samples: int
    """Samples of one global step: those of rank 0 times the ranks."""
    restored_step: int | None = None
    """Only at the first step of a world: the step it started from."""
    previous_step: int | None = None
    """Only there: the last step this rank did in the world before, if it was in it."""
    metrics: Mapping[str, float] = field(default_factory=dict)


# --- From the coordinator ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Welcome:
    version: int
    uses_session: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Drain:
    world: int
    seconds: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class Restart:
    world: int


@dataclass(frozen=True, kw_only=True)
class Release:
    """To a member on notice: every member has left the world, nothing needs this one any more."""

    world: int


@dataclass(frozen=True, kw_only=True)
class CommitAnswer:
    world: int
    step: int
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class Closed:
    outcome: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The coordinator does not want this agent."""

    reason: str
    final: bool = True
    """Trying again will not help."""


@dataclass(frozen=True, kw_only=True)
class NotLeader:
    """Another coordinator forms the worlds now: try the next address. Nothing is wrong."""


FromAgent = (
    Hello
    | UsesSession
    | Starting
    | Ready
    | FloorFound
    | Leaving
    | Drained
    | Failed
    | Finished
    | Commit
    | Saved
    | Progress
)
FromCoordinator = (
    Welcome | NewWorld | Drain | Restart | Release | CommitAnswer | Closed | Refused | NotLeader
)


def wire_type(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


FROM_AGENT = {wire_type(kind): kind for kind in typing.get_args(FromAgent)}
FROM_COORDINATOR = {wire_type(kind): kind for kind in typing.get_args(FromCoordinator)}


def encode(message: Any) -> str:
    return json.dumps({"type": wire_type(type(message)), **asdict(message)}, allow_nan=False)


def decode(text: str | bytes, kinds: Mapping[str, type]) -> Any:
    """The message in `text`, or None for a type that is not among `kinds`.

    Raises:
        ProtocolError: not JSON, not an object, or a field that is missing or of a wrong type.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not a JSON message: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("type"), str):
        raise ProtocolError("a message is a JSON object with a text field 'type'")
    kind = kinds.get(document["type"])
    return None if kind is None else _build(kind, document, document["type"])


def _finite(value: int | float, where: str) -> float:
    with contextlib.suppress(OverflowError):
        if math.isfinite(number := float(value)):
            return number
    raise ProtocolError(f"{where}: {str(value)[:80]} is no finite number")


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
        return {str(key): _check(item, args[1], f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _build(hint, value, where)
    if hint is float and type(value) in (int, float):
        return _finite(value, where)
    if isinstance(hint, type) and type(value) is hint:
        return value
    name = getattr(hint, "__name__", str(hint))
    raise ProtocolError(f"{where}: {str(value)[:80]!r} is not a {name}")
