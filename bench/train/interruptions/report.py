"""What docs/performance.md shows of interruptions, from the raw data. Pure."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from bench import page
from bench.figure import GREEN, GREY, ORANGE, PALE_GREEN, RED, Dots, Series
from bench.train.peers.launchers import ALL

Trials = Sequence[Mapping[str, Any]]

GOALS_OF_LOSS: Final = {"session": 0.06, "unmodified": 0.2}
GOALS_OF_PLAN: Final = {"session": 0.1, "unmodified": 0.4}
"""Most that a pause may be, as a share of the peer's."""
PEER_OF_LOSS: Final = "tuned"
PEER_OF_PLAN: Final = "leaving"
SECONDS: Final = {"loss": "from_event", "notice": "from_event", "growth": "pause"}
"""What counts as the cost: a newcomer takes its time to import, but nobody waits for it."""
TITLES: Final = {
    "loss": "SIGKILL to the first step of the next world",
    "notice": "SIGTERM to the first step of the next world",
    "growth": "Time without a step when a worker joins",
}
COLORS: Final = dict(zip(ALL, (GREEN, PALE_GREEN, ORANGE, RED, GREY), strict=True))
TICKS: Final = (0.1, 0.3, 1, 3, 10, 30, 100)
NEVER: Final = 300.0


def figure(name: str, found: dict[str, Any]) -> Dots:
    """Every trial, in a row for each case and launcher."""
    trials: Trials = found["trials"]
    cases, launchers = _in_order(trials, "case"), _in_order(trials, "launcher")

    def row(case: str, launcher: str) -> str:
        about = ALL[launcher].about
        return f"{case}: {about}" if len(cases) > 1 else about

    series = [
        Series(
            label=ALL[launcher].about,
            color=COLORS[launcher],
            rows={
                row(case, launcher): seconds
                for case in cases
                if (seconds := _seconds(_of(trials, case=case, launcher=launcher), SECONDS[name]))
            },
        )
        for launcher in launchers
    ]
    return Dots(
        title=f"Every trial: {TITLES[name]}",
        unit="seconds",
        series=series,
        ticks=TICKS,
        never=NEVER,
        limits=(0.05, 400),
        order=[row(case, launcher) for case in cases for launcher in launchers],
    )


def loss(found: dict[str, Any]) -> str:
    trials: Trials = found["trials"]
    names = _in_order(trials, "launcher")
    head = ["killed", *(f"{ALL[name].about} (s)" for name in names)]
    head += [f"{ALL[name].about} / {ALL[PEER_OF_LOSS].about}" for name in GOALS_OF_LOSS]
    rows = []
    for case in _in_order(trials, "case"):
        seconds = {n: _seconds(_of(trials, case=case, launcher=n), "from_event") for n in names}
        ratios = [
            _judged(_middle(seconds.get(name, [])) / _middle(seconds[PEER_OF_LOSS]), goal)
            for name, goal in GOALS_OF_LOSS.items()
        ]
        rows.append([case, *(_spread(seconds[name]) for name in names), *ratios])
    return "\n".join([_intro(found), "", page.table(head, rows)])


def planned(name: str, found: dict[str, Any]) -> str:
    trials: Trials = found["trials"]
    peer = _middle(_seconds(_of(trials, launcher=PEER_OF_PLAN), SECONDS[name]))
    head = ["", "trials", f"{TITLES[name]} (s)", "steps lost", f"beside {ALL[PEER_OF_PLAN].about}"]
    rows = []
    for launcher in _in_order(trials, "launcher"):
        of_launcher = _of(trials, launcher=launcher)
        seconds = _seconds(of_launcher, SECONDS[name])
        goal = GOALS_OF_PLAN.get(launcher)
        ratio = _middle(seconds) / peer
        judged = _judged(ratio, goal) if goal else _ratio(ratio)
        lost = _lost(of_launcher, has_goal=launcher == "session")
        rows.append([ALL[launcher].about, str(len(of_launcher)), _spread(seconds), lost, judged])
    return "\n".join([_intro(found), "", page.table(head, rows)])


def _intro(found: dict[str, Any]) -> str:
    return f"{page.ran_on(found)}, torch {found['machine']['torch']}; median (fastest to slowest)."


def _in_order(trials: Trials, key: str) -> list[str]:
    return list(dict.fromkeys(trial[key] for trial in trials))


def _of(trials: Trials, **wanted: str) -> Trials:
    return [t for t in trials if all(t[key] == value for key, value in wanted.items())]


def _seconds(trials: Trials, key: str) -> list[float]:
    """A trial after which training never went on has taken for ever."""
    return [math.inf if trial["never"] else trial[key] for trial in trials]


def _middle(seconds: Sequence[float]) -> float:
    return median(seconds) if seconds else math.nan


def _spread(seconds: Sequence[float]) -> str:
    never = sum(map(math.isinf, seconds))
    if never == len(seconds):
        return f"never ({never} of {never})"
    finite = [value for value in seconds if math.isfinite(value)]
    text = f"{_middle(finite):.2f} ({min(finite):.2f} to {max(finite):.2f})"
    return f"{text}, never in {never} of {len(seconds)}" if never else text


def _ratio(ratio: float) -> str:
    if math.isnan(ratio):
        return ""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def _judged(ratio: float, goal: float) -> str:
    return f"{_ratio(ratio)}, goal <= {goal:g}: {'met' if ratio <= goal else 'missed'}"


def _lost(trials: Trials, *, has_goal: bool) -> str:
    lost = [trial["lost_steps"] for trial in trials if not trial["never"]]
    if not lost:
        return ""
    if not any(lost):
        text = f"0 in all {len(lost)}"
    else:
        text = f"{median(lost):g} ({min(lost)} to {max(lost)})"
    if not has_goal:
        return text
    is_met = not any(lost) and len(lost) == len(trials)
    return f"{text}, goal 0: {'met' if is_met else 'missed'}"
