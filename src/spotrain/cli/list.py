"""`spotrain list`."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spotrain.cli import jobs, output
from spotrain.cli.errors import UserError
from spotrain.cli.job_rows import JobRow
from spotrain.cli.job_table import in_order, tabulate, told
from spotrain.cli.options import Context, Format, Local, Namespace, Output
from spotrain.kinds import Object

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NONE: Final = "There are no jobs {}. spotrain submit --help tells how to make one."
"""Where: a namespace that was mistyped looks as empty as one without jobs."""
HEAD_LINES: Final = 4
"""Of a terminal that a live table leaves to its head, to a remark and to the cursor."""


def command(
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Stay, and show every change until Ctrl-C.")
    ] = False,
    context: Context = None,
    namespace: Namespace = None,
    local: Local = False,
    form: Output = Format.table,
) -> None:
    """The jobs: what each is doing, and how far it is."""
    if watch and form is not Format.table:
        raise UserError(f"--watch with -o {form}: what is watched is a table; leave out one.")
    with jobs.opened(context=context, namespace=namespace, local=local) as opened:
        if watch:
            show_changes(opened.watch_rows(), NONE.format(opened.where))
        elif form is Format.table:
            show_table(opened.rows(), NONE.format(opened.where))
        elif form is Format.name:
            for name in opened.names():
                print(name)
        else:
            output.write(summaries(opened), form)


def summaries(opened: jobs.Jobs) -> list[Object]:
    """All that is known of each, the newest last. Only this needs their documents."""
    from spotrain.cli.job_view import view

    found = sorted(map(view, opened.list()), key=lambda seen: (seen.created_at, seen.name))
    now = datetime.now(UTC)
    return [seen.summary(now) for seen in found]


def show_table(rows: Sequence[JobRow], none: str) -> None:
    if not rows:
        output.say(none)
        return
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    head, *lines = tabulate(in_order(rows), datetime.now(UTC), width=width)
    typer.secho(head, bold=True)
    print(*lines, sep="\n")


def show_changes(changes: Iterator[Sequence[JobRow]], none: str) -> None:
    """A table that is redrawn on a terminal, a line a change elsewhere; until Ctrl-C."""
    if sys.stdout.isatty():
        _redraw(changes, none)
    else:
        _tell(changes)


def _redraw(changes: Iterator[Sequence[JobRow]], none: str) -> None:
    from rich.console import Console
    from rich.live import Live

    console, latest = Console(), next(changes)
    with Live(
        get_renderable=lambda: draw(latest, console, none),
        console=console,
        refresh_per_second=output.REFRESHES_PER_SECOND,
    ):
        for rows in changes:
            latest = rows


def draw(rows: Sequence[JobRow], console: "Console", none: str) -> "RenderableType":
    """As many of the newest jobs as the terminal is high."""
    from rich.text import Text

    if not rows:
        return Text(none)
    room = max(1, console.height - HEAD_LINES)
    older = len(rows) - room
    lines = tabulate(in_order(rows)[-room:], datetime.now(UTC), width=console.width)
    remark = [f"{older:,} older ones are not shown"] if older > 0 else []
    return Text("\n".join([*remark, *lines]))


def _tell(changes: Iterator[Sequence[JobRow]]) -> None:
    before: dict[str, str] = {}
    for rows in changes:
        now = {row.name: told(row) for row in in_order(rows)}
        for name in before.keys() - now.keys():
            print(f"{name}: deleted", flush=True)
        for name, line in now.items():
            if before.get(name) != line:
                print(line, flush=True)
        before = now
