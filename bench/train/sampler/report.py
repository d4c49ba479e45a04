"""What docs/performance.md shows of the sampler. Pure."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Final

from bench.figure import GREEN, GREY, PALE_GREEN, Dots, Series
from bench.page import met, ran_on, table

PEER: Final = "DistributedSampler"
COLORS: Final = {"ours": GREEN, "ours, constant step": PALE_GREEN, PEER: GREY}
GOAL: Final = 1.5
"""Most that an index of ours may cost, as a share of the peer's."""


def block(found: dict[str, Any]) -> str:
    cases = found["cases"]
    batches = list(dict.fromkeys(case["batch_size"] for case in cases))
    head = ("samples", "ranks", *(f"batch of {size}" for size in batches))
    missed = [case for case in cases if _ratio(case) > GOAL]
    rounds = len(cases[0]["ns_per_index"][PEER])
    goal = f"Goal: at most {GOAL:g} in each case: {met(not missed)}" + (
        f" in {len(missed)} of {len(cases)}." if missed else "."
    )
    intro = (
        f"{ran_on(found)}; ratio of medians of {rounds} rounds, with a constant share of each "
        f"rank. {goal}"
    )
    return "\n".join([intro, "", table(head, _rows(cases))])


def _rows(cases: Sequence[dict[str, Any]]) -> Iterator[Sequence[str]]:
    for size, ranks in dict.fromkeys((case["size"], case["world_size"]) for case in cases):
        own = [case for case in cases if (case["size"], case["world_size"]) == (size, ranks)]
        yield f"{size:,}", str(ranks), *(f"{_ratio(case):.2f}" for case in own)


def _ratio(case: dict[str, Any]) -> float:
    timed = case["ns_per_index"]
    return float(median(timed["ours"]) / median(timed[PEER]))


def figure(found: dict[str, Any]) -> Dots:
    series = [
        Series(
            label=name,
            color=color,
            rows={_about(case): case["ns_per_index"][name] for case in found["cases"]},
        )
        for name, color in COLORS.items()
    ]
    return Dots(
        title="Every round: processor time of an index",
        unit="nanoseconds",
        series=series,
        ticks=(30, 100, 300, 1000),
    )


def _about(case: dict[str, Any]) -> str:
    ranks = "1 rank" if case["world_size"] == 1 else f"{case['world_size']} ranks"
    return f"{case['size']:,}, {ranks}, batch of {case['batch_size']}"
