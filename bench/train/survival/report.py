"""What docs/performance.md shows of survival. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.figure import Dots, Series
from bench.page import ran_on, table
from bench.train.interruptions.report import COLORS
from bench.train.peers.launchers import ALL
from bench.train.survival.cases import CASES


def block(found: dict[str, Any]) -> str:
    names = list(found["survival"])
    head = ["what happens", *(ALL[name].about for name in names)]
    ours = [trial for of in found["survival"]["session"].values() for trial in of]
    verdict = "met" if all(trial["survives"] for trial in ours) else "missed"
    text = (
        f"{ran_on(found)}; {found['rounds']} of each, at most {found['limit_seconds']:.0f} s for "
        f"torchrun's 46 to pass. Goal: ours lives through all of them: {verdict}."
    )
    return "\n".join([text, "", table(head, _rows(found["survival"]))])


def figure(found: dict[str, Any]) -> Dots:
    series = [
        Series(
            label=ALL[name].about,
            color=COLORS[name],
            rows={
                case.about: [
                    trial["standstill"] if trial["survives"] else math.inf
                    for trial in of_case[case.name]
                    if trial["fits"]
                ]
                for case in CASES
                if case.name in of_case
            },
        )
        for name, of_case in found["survival"].items()
    ]
    return Dots(
        title="Every trial: the longest time without a step that had not been done before",
        unit="seconds",
        series=series,
        ticks=(0.1, 0.3, 1, 3, 10, 30, 100),
        never=300.0,
        limits=(0.03, 400),
    )


def _rows(survival: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for case in CASES:
        cells = [_cell(of_case.get(case.name, [])) for of_case in survival.values()]
        if any(cells):
            yield [case.about, *cells]
    totals = [_total(of_case) for of_case in survival.values()]
    yield ["lived through", *totals]


def _cell(trials: Sequence[dict[str, Any]]) -> str:
    tried = [trial for trial in trials if trial["fits"]]
    if not tried:
        return "as rank 0" if trials else ""
    alive = [trial for trial in tried if trial["survives"]]
    if len(alive) == len(tried):
        return f"yes, {max(trial['standstill'] for trial in alive):.1f} s"
    dead = next(trial for trial in tried if not trial["survives"])
    share = f"{len(alive)} of {len(tried)}: " if len(tried) > 1 else "no: "
    return f"{share}{dead['why']}"


def _total(of_case: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    tried = [[trial for trial in trials if trial["fits"]] for trials in of_case.values()]
    tried = [trials for trials in tried if trials]
    return f"{sum(all(t['survives'] for t in trials) for trials in tried)} of {len(tried)}"
