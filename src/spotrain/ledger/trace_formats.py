"""Records of spot capacity as others publish them, read as a Trace.

Bamboo          milliseconds,add|remove,node
Bamboo, gcloud  2021-12-10, 13:07:45, nodes
Parcae          milliseconds,nodes
SkyPilot        {"metadata": {"gap_seconds": 300}, "data": [nodes, nodes, ...]}
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeVar

from spotrain.ledger.traces import Trace, trace_of

_Line = TypeVar("_Line")


class TraceError(ValueError):
    """A text that is no trace; says which line, and what would be one."""


def read_trace(text: str) -> Trace:
    """A trace in any of these formats; the text tells which.

    Raises:
        TraceError: it is in none of them, or counts what cannot be.
    """
    if text.lstrip().startswith("{"):
        return read_availability(text)
    first = next((line for line in text.splitlines() if line.strip()), "")
    fields = first.split(",")
    if len(fields) == 2:
        return read_counts(text)
    if len(fields) == 3:
        return read_clock_counts(text) if "-" in fields[0] else read_events(text)
    raise TraceError(
        f"it begins with {first[:40]!r}, but a trace has lines of milliseconds,add|remove,node or "
        "date,time,nodes or milliseconds,nodes, or is JSON with metadata.gap_seconds and data"
    )


def read_events(text: str) -> Trace:
    """Bamboo's: who came and who went."""

    def parse(fields: list[str]) -> tuple[float, int]:
        milliseconds, what, _node = fields
        return int(milliseconds) / 1000, {"add": 1, "remove": -1}[what]

    change: Counter[float] = Counter()
    for at, difference in _lines(text, parse, "milliseconds, add or remove, and a node's name"):
        change[at] += difference
    counts, nodes = [(0.0, 0)], 0
    for at in sorted(change):
        nodes += change[at]
        counts.append((at, nodes))
    return _made(counts, max(change))


def read_counts(text: str) -> Trace:
    """Parcae's: after each change, how many there are."""

    def parse(fields: list[str]) -> tuple[float, int]:
        milliseconds, nodes = fields
        return int(milliseconds) / 1000, int(nodes)

    found = sorted(_lines(text, parse, "milliseconds and nodes"), key=lambda line: line[0])
    return _made([(0.0, 0), *found], found[-1][0])


def read_clock_counts(text: str) -> Trace:
    """Bamboo's of Google Cloud. Its lines run ahead of the clock: a later one that goes back in
    time corrects all that was said of the time since."""

    def parse(fields: list[str]) -> tuple[datetime, int]:
        day, clock, nodes = fields
        return datetime.fromisoformat(f"{day.strip()}T{clock.strip()}"), int(nodes)

    kept: list[tuple[datetime, int]] = []
    for at, nodes in _lines(text, parse, "date, time and nodes"):
        while kept and kept[-1][0] >= at:
            kept.pop()
        kept.append((at, nodes))
    start = kept[0][0]
    found = [((at - start).total_seconds(), nodes) for at, nodes in kept]
    return _made(found, found[-1][0])


def read_availability(text: str) -> Trace:
    """SkyPilot's: how many were to be had, tick by tick."""
    try:
        document = json.loads(text)
        gap, counts = float(document["metadata"]["gap_seconds"]), document["data"]
        if not gap > 0 or not all(isinstance(count, int) for count in counts):
            raise ValueError
        found = [(number * gap, count) for number, count in enumerate(counts)]
    except (ValueError, TypeError, LookupError):
        raise TraceError(
            f"{text.strip()[:40]!r}... is JSON or begins like it, but a trace has a mapping with "
            "metadata.gap_seconds above 0 and a list data of nodes, one for each tick"
        ) from None
    return _made(found, len(counts) * gap)


def _lines(text: str, parse: Callable[[list[str]], _Line], what: str) -> list[_Line]:
    """One at least, for the first of them told the format."""

    def parsed() -> Iterator[_Line]:
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                yield parse([field.strip() for field in line.split(",")])
            except (ValueError, KeyError):
                raise TraceError(
                    f"line {number} is {line[:60]!r}, but a trace has {what} a line"
                ) from None

    return list(parsed())


def _made(counts: list[tuple[float, int]], seconds: float) -> Trace:
    try:
        return trace_of(counts, seconds)
    except ValueError as error:
        raise TraceError(str(error)) from None
