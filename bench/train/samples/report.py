"""The table of docs/performance.md about samples. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from bench.figure import BLUE, ORANGE, Dots, Series
from bench.page import met, ran_on, table

OURS: Final = "spotrain.train"
HEAD: Final = ("sampler", "lost", "repeated", "jobs with a mistake", "goal", "")


def block(found: dict[str, Any]) -> str:
    jobs = len(found["histories"])
    samples = sum(history["samples"] * history["epochs"] for history in found["histories"])
    worlds = sum(history["worlds"] for history in found["histories"])
    kills = sum(history["kills"] for history in found["histories"])
    rows = [_row(name, of, samples) for name, of in found["mistakes"].items()]
    intro = (
        f"{ran_on(found)}. {jobs} jobs of {worlds} worlds in all, {kills} of which were killed; "
        f"{samples:,} samples were due."
    )
    return "\n".join([intro, "", table(HEAD, rows)])


def figure(found: dict[str, Any]) -> Dots:
    due = [history["samples"] * history["epochs"] for history in found["histories"]]

    def shares(which: int) -> dict[str, list[float]]:
        return {
            name: [100 * own[which] / all for own, all in zip(mistakes, due, strict=True)]
            for name, mistakes in found["mistakes"].items()
        }

    return Dots(
        title="Every job: samples that were lost, and repeated",
        unit="per cent of the samples that were due",
        series=[
            Series(label="lost", color=BLUE, rows=shares(0)),
            Series(label="repeated", color=ORANGE, rows=shares(1)),
        ],
    )


def _row(name: str, mistakes: Sequence[tuple[int, int]], samples: int) -> Sequence[str]:
    lost, repeated = (sum(counts) for counts in zip(*mistakes, strict=True))
    wrong = sum(1 for of_job in mistakes if any(of_job))
    goal = ("0 and 0", met(not wrong)) if name == OURS else ("", "")
    return (name, _share(lost, samples), _share(repeated, samples), str(wrong), *goal)


def _share(count: int, samples: int) -> str:
    return f"{count:,} ({100 * count / samples:.2g} %)" if count else "0"
