"""`spotrain drill`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spotrain.cli import output
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.options import Context, Format, JobName, Namespace, Output
from spotrain.cli.wording import dollars, span

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spotrain.cli.drill_plan import Strike
    from spotrain.cli.drill_verdict import Limits, Outcome


def command(
    name: JobName,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="One after the other: notice (the worker is evicted), kill (it is gone at once), "
            "node (its node is drained; for administrators).",
        ),
    ] = "notice",
    worker: Annotated[
        int | None, typer.Option(min=0, help="Number of the worker; default: the highest.")
    ] = None,
    max_pause: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Limit of the time in which nobody trains."),
    ] = None,
    max_steps_lost: Annotated[
        int | None,
        typer.Option(min=0, help="Limit for each interruption; default: 0, and none for kill."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, help="For each, until all workers train again; nodes boot."
        ),
    ] = 900.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and interrupt nobody.")
    ] = False,
    real: Annotated[
        bool,
        typer.Option(
            "--real",
            help="Let AWS's Fault Injection Service take back the worker's spot node, with your "
            "own AWS credentials.",
        ),
    ] = False,
    role: Annotated[
        str | None,
        typer.Option(
            envvar="SPOTRAIN_DRILL_ROLE",
            metavar="ARN",
            help="For --real: what the stack's output drillRole says.",
        ),
    ] = None,
    context: Context = None,
    namespace: Namespace = None,
    form: Output = Format.table,
) -> None:
    """Interrupt a job for real, and say what that cost and whether it is within limits.

    Exits with 1 where a limit was passed, or where the job did not come back.
    """
    from spotrain.cli.cluster import connected
    from spotrain.cli.drill_plan import parse_manners
    from spotrain.cli.drill_real import ByAws, require
    from spotrain.cli.drill_verdict import Limits
    from spotrain.cli.drilling import Drill, check_rights

    manners = parse_manners(kind)
    given_role = require(manners, role) if real else ""
    limits = Limits(max_pause_seconds=max_pause, max_steps_lost=max_steps_lost)
    with connected(context, namespace) as cluster:
        by_aws = ByAws(cluster, given_role) if real else None
        drill = Drill(cluster, name, worker, timeout, by_aws)
        plan = [drill.plan(manner) for manner in manners]
        for strike in plan:
            check_rights(cluster, (*strike.calls, *strike.undo))
        if dry_run:
            show_plan(plan, form)
            return
        outcomes = []
        for manner in manners:
            outcomes.append(drill.run(manner))
            if outcomes[-1].problem:
                break
    show(name, outcomes, limits, form)
    if any(outcome.faults(limits) for outcome in outcomes):
        raise typer.Exit(JOB_FAILED)


def show_plan(plan: "Sequence[Strike]", form: Format) -> None:
    """Of several, each is planned from the pods that are there now; the later ones will hit their
    replacements."""
    documents = [strike.document() for strike in plan]
    names = [str(strike.manner) for strike in plan]
    output.answer(documents, form, names=names, table=lambda: draw_plan(plan))


def draw_plan(plan: "Sequence[Strike]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    return Group(*(Text(line) for strike in plan for line in _lines(strike)))


def _lines(strike: "Strike") -> Iterator[str]:
    yield f"{strike.manner}: {strike.said}"
    for call in (*strike.calls, *strike.undo):
        sent = call.document()
        yield f"  {sent['method']} {sent['path']}"


def show(name: str, outcomes: "Sequence[Outcome]", limits: "Limits", form: Format) -> None:
    faults = [(outcome, fault) for outcome in outcomes for fault in outcome.faults(limits)]
    verdict = "failed" if faults else "passed"
    document: dict[str, Any] = {
        "job": name,
        "passed": not faults,
        "drills": [outcome.document(limits) for outcome in outcomes],
    }
    output.answer(document, form, names=[verdict], table=lambda: draw(outcomes, limits))
    for outcome, fault in faults:
        output.say(f"{outcome.strike.manner}: {fault}.")
    output.say(f"{verdict.upper()}. Next: spotrain describe {name}")


def draw(outcomes: "Sequence[Outcome]", limits: "Limits") -> "RenderableType":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("kind", "worker", "ended by"):
        table.add_column(column, no_wrap=True)
    for column in ("pause", "steps lost", "cost", "whole after"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
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
