"""The demonstration on a terminal: a live view while it trains, tables when it is over."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from demo.report import PLANNED, Report
from spotrain.local.engine import Engine

EVENTS_SHOWN = 12
REFRESH_SECONDS = 0.25


@asynccontextmanager
async def showing(engine: Engine, console: Console) -> AsyncIterator[None]:
    """A live view on a terminal; plain lines of what happens where there is none."""
    story = Story(engine, console)
    if console.is_terminal:
        live = Live(console=console, auto_refresh=False, transient=True)
        with live:
            task = asyncio.create_task(_refresh(engine, live))
            try:
                yield
            finally:
                task.cancel()
    else:
        task = asyncio.create_task(story.follow())
        try:
            yield
        finally:
            task.cancel()
    story.tell()


class Story:
    """What happened, line by line, each line once."""

    def __init__(self, engine: Engine, console: Console) -> None:
        self._engine, self._console = engine, console
        self._start, self._told = time.monotonic(), 0

    def tell(self) -> None:
        for happening in self._engine.story[self._told :]:
            seconds = happening.at - self._start
            line = f"{seconds:6.1f} s  {happening.text}"
            self._console.print(line, highlight=False, soft_wrap=True)
        self._told = len(self._engine.story)

    async def follow(self) -> None:
        while True:
            self.tell()
            await asyncio.sleep(REFRESH_SECONDS)


async def _refresh(engine: Engine, live: Live) -> None:
    start = time.monotonic()
    while True:
        live.update(_view(engine, start), refresh=True)
        await asyncio.sleep(REFRESH_SECONDS)


def _view(engine: Engine, start: float) -> RenderableType:
    report = engine.report()
    head = Table.grid(padding=(0, 3))
    blocks = "■ " * report.size or "waiting"
    head.add_row("world", f"[bold]{report.number}[/]  [green]{blocks}[/] {report.phase}")
    head.add_row("step", f"[bold]{report.step:,}[/]  epoch {report.epoch + 1}")
    metrics = report.metrics
    head.add_row("loss", f"{metrics['loss']:.4f}" if "loss" in metrics else "")
    head.add_row("accuracy", f"{metrics['accuracy']:.2%}" if "accuracy" in metrics else "")
    nodes = engine.machines.alive
    head.add_row("nodes", "  ".join(_describe(node.name, node.cordoned) for node in nodes))
    events = Table.grid(padding=(0, 2))
    events.add_column(justify="right")
    for happening in engine.story[-EVENTS_SHOWN:]:
        events.add_row(f"{happening.at - start:.1f} s", Text(happening.text))
    title = f"ElasticJob {engine.job.name}: {time.monotonic() - start:.0f} s"
    return Panel(Group(head, Text(), events), title=title, border_style="cyan")


def _describe(name: str, cordoned: bool) -> str:
    return f"[yellow]{name} (notice)[/]" if cordoned else f"[green]{name}[/]"


def print_report(report: Report, console: Console) -> None:
    table = Table(title="Every world the job lived in", title_justify="left")
    for column in ("world", "workers", "steps", "ended by", "pause", "steps lost"):
        table.add_column(column, justify="left" if column == "ended by" else "right")
    for world in report.worlds:
        planned = str(world.reason) in PLANNED
        style = "green" if planned else "red" if str(world.reason) == "loss" else "none"
        steps = "" if world.first_step is None else f"{world.first_step:,} - {world.last_step:,}"
        pause = "" if world.pause_seconds is None else f"{world.pause_seconds:.2f} s"
        lost = "" if world.steps_lost is None else f"{world.steps_lost:,}"
        reason = Text(str(world.reason), style=style)
        table.add_row(str(world.number), str(world.size), steps, reason, pause, lost)
    console.print(table)
    samples, cost = report.samples, report.cost
    verdicts = Table.grid(padding=(0, 3))
    verdicts.add_row("validation accuracy", f"[bold]{report.accuracy:.2%}[/]")
    verdicts.add_row(
        "samples in committed state",
        f"[bold]{samples.lost}[/] lost, [bold]{samples.repeated}[/] repeated "
        f"in {samples.epochs_checked} epochs",
    )
    verdicts.add_row("goodput", f"[bold]{report.goodput.fraction:.1%}[/]  {_losses(report)}")
    share = cost.fraction
    saved = "" if share is None else f", had it never been interrupted: {share:.0%} saved"
    verdicts.add_row(
        "cost of the example's nodes",
        f"[bold]${cost.usd:.4f}[/] on spot; the same work on demand, "
        f"${cost.on_demand_usd:.4f}{saved}",
    )
    console.print(verdicts)
    for problem in report.problems:
        console.print(f"[red]falls short:[/] {problem}")
    console.print("[bold green]PASSED[/]" if not report.problems else "[bold red]FAILED[/]")


def _losses(report: Report) -> str:
    parts = [f"{cause} {share:.1%}" for cause, share in report.goodput.lost.items() if share > 5e-4]
    return f"(lost: {', '.join(parts)})" if parts else ""
