"""`spotrain simulate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotrain.cli import output
from spotrain.cli.errors import UserError
from spotrain.cli.options import Format, Output
from spotrain.cli.wording import count, dollars, percent, span

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spotrain.ledger.simulation import Outcome
    from spotrain.ledger.traces import Trace

MOST_NODES: Final = 100_000
MOST_USD: Final = 1000
MOST_HOURS: Final = 1e6
A_DAY: Final = 86400
A_YEAR: Final = 365 * A_DAY
"""More is taken for a slip, and would be figures that no table holds."""


def command(
    trace: Annotated[
        Path,
        typer.Option(help="Bamboo's CSV or text, Parcae's CSV, or SkyPilot's JSON."),
    ],
    nodes: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_NODES,
            help="Nodes of the job; the trace is scaled to so many at most.",
        ),
    ] = 16,
    hours: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=MOST_HOURS,
            help="What the job takes on all nodes undisturbed; default: it goes on.",
        ),
    ] = None,
    price: Annotated[
        float,
        typer.Option(min=0, max=MOST_USD, metavar="USD", help="A node for an hour, on demand."),
    ] = 1.0,
    discount: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="Of spot, of the price.")
    ] = 0.7,
    pause: Annotated[
        float,
        typer.Option(
            min=0, max=A_DAY, metavar="SECONDS", help="From a change to spotrain's next step."
        ),
    ] = 10.0,
    save: Annotated[
        float,
        typer.Option(
            min=0, max=A_DAY, metavar="SECONDS", help="For which a checkpoint stops training."
        ),
    ] = 1.0,
    interval: Annotated[
        float,
        typer.Option(
            min=1, max=A_YEAR, metavar="SECONDS", help="Of training, between two checkpoints."
        ),
    ] = 600.0,
    unnoticed: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Of the losses: no notice comes before them."
        ),
    ] = 0.0,
    form: Output = Format.table,
) -> None:
    """Play a record of spot capacity: time, goodput and dollars, beside torchrun and restarts."""
    from spotrain.ledger.runtimes import RUNTIMES, adapted
    from spotrain.ledger.simulation import Prices, simulate

    played = read(trace, nodes)
    prices = Prices(on_demand_usd=price, discount=discount)
    runtimes = [
        adapted(
            runtime,
            pause_seconds=pause,
            save_seconds=save,
            interval_seconds=interval,
            unnoticed=unnoticed,
        )
        for runtime in RUNTIMES
    ]
    found = [simulate(played, runtime, prices, work_hours=hours) for runtime in runtimes]
    if form is Format.table:
        output.say(describe(played, trace.name, price * (1 - discount), price))
    output.answer(
        [document(outcome) for outcome in found],
        form,
        names=[outcome.runtime.name for outcome in found],
        table=lambda: tabulate(found),
    )


def read(path: Path, nodes: int) -> "Trace":
    """The trace in a file, scaled to `nodes`. Raises UserError."""
    from spotrain.ledger.trace_formats import TraceError, read_trace

    try:
        found = read_trace(path.read_text())
    except OSError as error:
        raise UserError(f"--trace {path}: {error.strerror}; give the path of a trace.") from None
    except UnicodeDecodeError:
        raise UserError(f"--trace {path}: is no text, so no trace.") from None
    except TraceError as error:
        raise UserError(f"--trace {path}: {error}.") from None
    if not found.most:
        raise UserError(f"--trace {path}: has no nodes at any time.")
    return found.scaled(most=found.most, to=nodes, least=0)


def describe(trace: "Trace", name: str, spot_usd: float, on_demand_usd: float) -> str:
    """What is played, and at which prices."""
    mean = trace.node_seconds / trace.seconds
    return (
        f"{name}: {span(trace.seconds)}, {count(trace.most, 'node')} at most, {mean:.1f} on "
        f"average, taken away at {count(trace.drops, 'moment')}; {dollars(spot_usd)} a node and "
        f"hour on spot, {dollars(on_demand_usd)} on demand. The last two columns: the interval of "
        "checkpoints with the highest goodput, and that goodput."
    )


def document(outcome: "Outcome") -> dict[str, Any]:
    behaviour = outcome.runtime.behaviour
    return {
        "runtime": outcome.runtime.name,
        "about": outcome.runtime.about,
        "goodput": outcome.goodput,
        "hours": outcome.hours,
        "nodeHours": outcome.node_hours,
        "usd": outcome.saving.usd,
        "onDemandUsd": outcome.saving.on_demand_usd,
        "saved": outcome.saving.fraction,
        "bestIntervalSeconds": outcome.best_interval_seconds,
        "bestGoodput": outcome.best_goodput,
        "assumed": {
            "pauseSeconds": behaviour.pause_seconds,
            "hasNotice": behaviour.has_notice,
            "unnoticed": behaviour.unnoticed,
            "saveSeconds": behaviour.save_seconds,
            "intervalSeconds": behaviour.interval_seconds,
        },
    }


def tabulate(found: Sequence["Outcome"]) -> "RenderableType":
    from rich import box
    from rich.table import Table

    from spotrain.ledger.simulation import SECONDS_PER_HOUR

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("runtime", no_wrap=True)
    for name in ("pause", "time", "goodput", "cost", "saved"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("save every", justify="right", no_wrap=True)
    table.add_column("for", justify="right", no_wrap=True)
    for outcome in found:
        hours, interval = outcome.hours, outcome.best_interval_seconds
        table.add_row(
            outcome.runtime.name,
            span(outcome.runtime.behaviour.pause_seconds),
            "never" if hours is None else span(SECONDS_PER_HOUR * hours),
            percent(outcome.goodput),
            dollars(outcome.saving.usd),
            percent(outcome.saving.fraction),
            "never" if interval is None else span(interval),
            percent(outcome.best_goodput),
        )
    return table
