"""What the jobs of a sweep have come to: what each tried, its state, its last metrics. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from spotrain.cli import wording
from spotrain.cli.errors import UserError
from spotrain.cli.job_view import JobView, view
from spotrain.cli.overrides import Values
from spotrain.cli.sweep_jobs import describe, values_of
from spotrain.controller.status import FAILED, SUCCEEDED
from spotrain.kinds import Object
from spotrain.next_command import next_command

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS: Final = 3
"""Metrics that a table shows; -o json has all."""


@dataclass(frozen=True)
class Result:
    """One job of a sweep."""

    seen: JobView
    values: Values

    @property
    def metrics(self) -> Mapping[str, float]:
        """The last that the script told; empty: nothing yet."""
        progress = self.seen.status.progress
        return (progress.metrics if progress else None) or {}

    def summary(self, now: datetime) -> Object:
        """As `spotrain list` tells of a job, with what it tried and what came of it."""
        return {
            **self.seen.summary(now),
            "values": dict(self.values),
            "metrics": dict(self.metrics),
        }


def results_of(documents: Iterable[Object]) -> list[Result]:
    """Of the jobs of a sweep, in the order in which they were sent."""
    return _in_order(result_of(document) for document in documents)


def result_of(document: Object) -> Result:
    return Result(view(document), values_of(document))


def _in_order(results: Iterable[Result]) -> list[Result]:
    return sorted(results, key=lambda each: (each.seen.created_at, each.seen.name))


def changing_results(changes: Iterable[Sequence[Object]]) -> Iterator[list[Result]]:
    """The same, of what is watched. Each document is read once: it takes a millisecond, and a
    sweep has many, of which one changes at a time."""
    known: dict[int, Result] = {}
    for documents in changes:
        known = {
            id(each): known.get(id(each)) or result_of(each)  # the result keeps it, and so its id
            for each in documents
        }
        yield _in_order(known.values())


def ordered(results: Sequence[Result], by: str) -> list[Result]:
    """By a metric, the lowest first, or with a minus before its name the highest; jobs that have
    not told it come last.

    Raises:
        UserError: no job has told one of the name.
    """
    metric = by.removeprefix("-")
    known = sorted({name for each in results for name in each.metrics})
    if metric not in known:
        there = f"there are {', '.join(known)}" if known else "none has told any yet"
        raise UserError(f"--sort {by}: no job of the sweep has told a metric {metric!r}; {there}.")
    told = [each for each in results if metric in each.metrics]
    told.sort(key=lambda each: each.metrics[metric], reverse=by.startswith("-"))
    return told + [each for each in results if metric not in each.metrics]


def arranged(results: Sequence[Result], by: str) -> list[Result]:
    """As `ordered`, once a job has told the metric; as they were sent before, and without one."""
    is_told = any(by.removeprefix("-") in each.metrics for each in results)
    return ordered(results, by) if is_told else list(results)


def headline(sweep: str, results: Sequence[Result]) -> str:
    """exp1: 6 jobs, 3 Running, 2 Pending, 1 Succeeded, $1.20."""
    states = [each.seen.state for each in results]
    counted = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    costs = [each.seen.usd for each in results if each.seen.usd is not None]
    parts = [wording.count(len(results), "job"), *counted]
    return f"{sweep}: {', '.join(parts + ([wording.dollars(sum(costs))] if costs else []))}"


def news(before: Sequence[Result], now: Sequence[Result]) -> list[str]:
    """A line for each job whose state is another one: exp1-1a2b (lr=0.1): Running."""
    known = {each.seen.name: each for each in before}
    changed = [
        each
        for each in now
        if each.seen.name not in known or known[each.seen.name].seen.state != each.seen.state
    ]
    gone = known.keys() - {each.seen.name for each in now}
    return [
        *(f"{_named(each)}: {each.seen.state}" for each in changed),
        *(f"{_named(known[name])}: deleted" for name in known if name in gone),
    ]


def _named(result: Result) -> str:
    tried = f" ({describe(result.values)})" if result.values else ""
    return f"{result.seen.name}{tried}"


def have_ended(results: Sequence[Result]) -> bool:
    return all(each.seen.status.finished for each in results)


def failed(results: Sequence[Result]) -> list[str]:
    return [each.seen.name for each in results if each.seen.status.is_true(FAILED)]


def tabulate(results: Sequence[Result], *, sort: str = "") -> "RenderableType":
    """One line a job; the metric that it is sorted by stands first."""
    from rich import box
    from rich.table import Table

    keys = list(dict.fromkeys(key for each in results for key in each.values))
    metrics = _shown_metrics(results, sort.removeprefix("-"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("job", overflow="fold")
    for key in keys:
        table.add_column(key, justify="right", overflow="fold")
    for column in ("state", "step", *metrics, "cost"):
        table.add_column(column, justify="left" if column == "state" else "right", overflow="fold")
    for each in results:
        progress = each.seen.status.progress
        table.add_row(
            each.seen.name,
            *(each.values.get(key, "") for key in keys),
            each.seen.state,
            f"{progress.step:,}" if progress else "",
            *(_number(each.metrics.get(metric)) for metric in metrics),
            wording.dollars(each.seen.usd),
        )
    return table


def _shown_metrics(results: Sequence[Result], first: str) -> list[str]:
    known = sorted({name for each in results for name in each.metrics})
    rest = [name for name in known if name != first]
    return ([first] if first in known else []) + rest[: COLUMNS - (first in known)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def summary_of_end(sweep: str, results: Sequence[Result], *, local: bool) -> str:
    """What a sweep has come to, once all of its jobs have ended."""
    bad = failed(results)
    good = sum(each.seen.status.is_true(SUCCEEDED) for each in results)
    said = f"{sweep}: {good} of {wording.count(len(results), 'job')} succeeded"
    return f"{said}. Next: {next_command('explain', bad[0], local=local)}" if bad else f"{said}."
