"""The table of docs/performance.md about goodput on a trace. Pure."""

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any, Final

from bench.page import ran_on, table
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
        f"nothing, the simulator's limit is {limit:.3f}.",
        "",
        table(HEAD, _rows(found["played"], limit)),
    ]
    return "\n".join(lines)


def _rows(played: dict[str, list[dict[str, Any]]], limit: float) -> Iterator[Sequence[str]]:
    ours = mean(part["goodput"] for part in played["session"])
    for name, parts in played.items():
        own = mean(part["goodput"] for part in parts)
        shares = [f"{100 * mean(part['lost'][cause] for part in parts):.1f} %" for cause in SHOWN]
        goals: tuple[str, str] = ("", "")
        if name == "session":
            goals = (f">= {0.95 * limit:.3f} (0.95 x limit)", _met(ours >= 0.95 * limit))
        elif name == "stock":
            ratio = f"ours {ours / own:.2f} x this" if own else "nothing kept"
            goals = (f">= 1.5 x: {ratio}", _met(ours >= 1.5 * own))
        restarts = str(sum(part["restarts"] for part in parts))
        yield (ALL[name].about, f"{own:.3f}", *shares, restarts, *goals)


def _met(is_met: bool) -> str:
    return "met" if is_met else "missed"
