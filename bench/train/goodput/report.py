"""What docs/performance.md shows of goodput on a trace. Pure."""

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any, Final

from bench.figure import BLACK, Line, Lines
from bench.page import met, ran_on, table
from bench.train.goodput.account import work_done, work_of_nodes
from bench.train.interruptions.report import COLORS
from bench.train.peers.launchers import ALL
from spotrain.ledger.goodput import CAUSES

SHOWN: Final = [cause for cause in CAUSES if cause != "closing"]
HEAD: Final = ("who", "goodput", *SHOWN, "agents restarted", "goal", "")


def block(found: dict[str, Any]) -> str:
    calm, trace = found["calm"], found["trace"]
    speeds = ", ".join(f"{float(speed):.0f} on {n}" for n, speed in calm["speed"].items())
    most_cpu = 1000 * max(float(seconds) for seconds in calm["cpu_seconds"].values())
    limit = mean(found["limit"])
    lines = [
        f"{ran_on(found)}. {trace['seconds'] / 3600:.1f} hours of the trace in "
        f"{trace['seconds'] / trace['factor'] / 60:.0f} minutes (k = {trace['factor']:g}), "
        f"{trace['drops']} drops, in {len(found['limit'])} parts. Full speed in samples a second: "
        f"{speeds} nodes; a step takes {1000 * found['step_seconds']:.0f} ms, of which "
        f"{most_cpu:.1f} ms are processor time of a rank and its agent. A job starts in "
        f"{calm['start_seconds']:.1f} s: with that as the pause, notice, and saves that cost "
        f"nothing, the simulator's limit is {limit:.3f}: all stand still at every change. Where "
        f"survivors train on, and nothing is lost but each node's own start, it is "
        f"{_bound(found):.3f}.",
        "",
        table(HEAD, _rows(found["played"], limit)),
    ]
    return "\n".join(lines)


def figure(found: dict[str, Any]) -> Lines:
    """Work in steps of one node, so far; what was done twice goes off again."""
    panels = []
    for number in range(len(found["limit"])):
        parts = {name: played[number] for name, played in found["played"].items()}
        nodes, end = parts["session"]["nodes"], parts["session"]["seconds"]
        all_of_it = Line(
            label="all that the nodes could do",
            color=BLACK,
            points=_in_minutes(work_of_nodes(nodes, found["step_seconds"])),
            style="--",
        )
        lines = [
            Line(
                label=ALL[name].about,
                color=COLORS[name],
                points=_in_minutes(work_done(part["steps"], end=end)),
            )
            for name, part in parts.items()
        ]
        panels.append([all_of_it, *lines])
    return Lines(
        title="Work that counts",
        unit="minutes",
        height="thousand steps of one node",
        panels=panels,
    )


def _in_minutes(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(seconds / 60, work / 1000) for seconds, work in points]


def _bound(found: dict[str, Any]) -> float:
    """Goodput of nodes that all train from `start_seconds` of their lives on."""
    start = found["calm"]["start_seconds"]
    lives = [end - begun for part in found["played"]["session"] for begun, end in part["nodes"]]
    return float(1 - sum(min(start, life) for life in lives) / sum(lives))


def _rows(played: dict[str, list[dict[str, Any]]], limit: float) -> Iterator[Sequence[str]]:
    ours = mean(part["goodput"] for part in played["session"])
    for name, parts in played.items():
        own = mean(part["goodput"] for part in parts)
        shares = [f"{100 * mean(part['lost'][cause] for part in parts):.1f} %" for cause in SHOWN]
        goals: tuple[str, str] = ("", "")
        if name == "session":
            goals = (f">= {0.95 * limit:.3f} (0.95 x limit)", met(ours >= 0.95 * limit))
        elif name == "stock":
            ratio = f"ours {ours / own:.2f} x this" if own else "nothing kept"
            goals = (f">= 1.5 x: {ratio}", met(ours >= 1.5 * own))
        restarts = str(sum(part["restarts"] for part in parts))
        yield (ALL[name].about, f"{own:.3f}", *shares, restarts, *goals)
