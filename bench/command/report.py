"""What docs/performance.md shows of the command line. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from bench import page
from bench.command.lines import lines
from bench.figure import GREEN, GREY, ORANGE, Dots, Series

HELP_SECONDS: Final = 0.3
LIST_SECONDS: Final = 1.0
"""On top of what the API server takes by itself."""
TAB_SECONDS: Final = 1.0
GOALS: Final[Mapping[str, float]] = {
    "help": HELP_SECONDS,
    "list": LIST_SECONDS,
    "complete-verb": TAB_SECONDS,
    "complete-option": TAB_SECONDS,
    "complete-name": TAB_SECONDS,
}
WHO: Final = {
    "ours": ("spotrain", GREEN, "o"),
    "theirs": ("kubectl", ORANGE, "s"),
    "server": ("the API server by itself", GREY, "d"),
}
ABOUT: Final = {key: line.about for key, line in lines("", "").items()}


def block(found: dict[str, Any]) -> str:
    rounds = found["rounds"]
    python = _milliseconds(_median(rounds, "python"))
    answers = found["answers"]
    sizes = ", ".join(f"as {name} {answers[name]['bytes'] / 1e6:.2f} MB" for name in answers)
    head = ("typed", "ours", "kubectl", "API server by itself", "ours on top of it", "goal", "")
    return "\n".join(
        (
            f"{page.ran_on(found)}: medians of {len(rounds)} rounds, in turns; "
            f"{found['jobs']} jobs with a record of {found['worlds']} worlds each (packed, "
            f"{sizes}). Python alone starts and ends in {python}.",
            "",
            page.table(head, _rows(rounds)),
        )
    )


def figure(found: dict[str, Any]) -> Dots:
    series = [
        Series(
            label=label,
            color=color,
            marker=marker,
            rows={
                about.replace("`", ""): timed
                for key, about in ABOUT.items()
                if (
                    timed := [
                        1000 * r[key][who]["seconds"] for r in found["rounds"] if who in r[key]
                    ]
                )
            },
        )
        for who, (label, color, marker) in WHO.items()
    ]
    return Dots(
        title="Every round: what is typed, until it has ended",
        unit="milliseconds",
        series=series,
        ticks=(10, 30, 100, 300, 1000, 3000),
    )


def seconds_of(row: Mapping[str, Any]) -> dict[str, float]:
    """What ours took in a round, for the person who watches."""
    return {key: round(row[key]["ours"]["seconds"], 3) for key in ABOUT if key in row}


def on_top(row: Mapping[str, Any], key: str) -> float:
    """Seconds of ours without the API server's own."""
    timed = row[key]
    own = timed["server"]["seconds"] if "server" in timed else 0.0
    return float(timed["ours"]["seconds"] - own)


def _rows(rounds: Sequence[dict[str, Any]]) -> Iterator[Sequence[str]]:
    for key in ABOUT:
        top = median(on_top(row, key) for row in rounds)
        goal = GOALS.get(key)
        yield (
            ABOUT[key],
            _milliseconds(_median(rounds, key, "ours")),
            _milliseconds(_median(rounds, key, "theirs")),
            _milliseconds(_median(rounds, key, "server")),
            _milliseconds(top) if "server" in rounds[0][key] else "",
            f"< {goal:g} s" if goal else "",
            page.met(top < goal) if goal else "",
        )


def _median(rounds: Sequence[dict[str, Any]], *path: str) -> float | None:
    """None: it was not timed."""
    found: list[float] = []
    for row in rounds:
        timed: Any = row
        for key in path:
            timed = timed.get(key, {})
        if not timed:
            return None
        found.append(timed["seconds"])
    return median(found)


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.0f} ms"
