"""A drill as people and scripts see it: what it will do, and what came of it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from spotrain.cli import output
from spotrain.cli.drill_plan import Strike
from spotrain.cli.drill_verdict import Limits, Outcome
from spotrain.cli.options import Format
from spotrain.cli.wording import dollars, span
from spotrain.next_command import next_command

if TYPE_CHECKING:
    from rich.console import RenderableType


def show_plan(plan: Sequence[Strike], form: Format) -> None:
    """Of several, each is planned from the pods that are there now; the later ones will hit their
    replacements."""
    documents = [strike.document() for strike in plan]
    names = [str(strike.manner) for strike in plan]
    output.answer(documents, form, names=names, table=lambda: draw_plan(plan))


def draw_plan(plan: Sequence[Strike]) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text(line) for strike in plan for line in _lines(strike)))


def _lines(strike: Strike) -> Iterator[str]:
    yield f"{strike.manner}: {strike.says}"
    for call in (*strike.calls, *strike.undo):
        sent = call.document()
        yield f"  {sent['method']} {sent['path']}"
    if strike.asks:
        yield f"  {strike.asks}"


def show(
    name: str,
    outcomes: Sequence[Outcome],
    limits: Limits,
    form: Format,
    *,
    local: bool,
    is_whole: bool = True,
) -> None:
    """`is_whole`: all was done that was asked for."""
    faults = [(outcome, fault) for outcome in outcomes for fault in outcome.faults(limits)]
    passed = is_whole and not faults
    verdict = "passed" if passed else "failed"
    document: dict[str, Any] = {
        "job": name,
        "passed": passed,
        "drills": [outcome.document(limits) for outcome in outcomes],
    }
    output.answer(document, form, names=[verdict], table=lambda: draw(outcomes, limits))
    for outcome, fault in faults:
        output.say(f"{outcome.strike.manner}: {fault}.")
    output.say(f"{verdict.upper()}. Next: {next_command('describe', name, local=local)}")


def draw(outcomes: Sequence[Outcome], limits: Limits) -> "RenderableType":
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in ("kind", "worker", "ended by"):
        table.add_column(column, no_wrap=True)
    for column in ("paused in all", "steps lost", "cost", "whole in"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for outcome in outcomes:
        whole = outcome.whole_seconds
        table.add_row(
            str(outcome.strike.manner),
            str(outcome.strike.worker.index),
            outcome.reason,
            f"{outcome.pause_seconds:.2f} s",
            f"{outcome.steps_lost:,}",
            dollars(outcome.usd_lost),
            "never" if whole is None else span(whole),
            "failed" if outcome.faults(limits) else "passed",
        )
    return table
