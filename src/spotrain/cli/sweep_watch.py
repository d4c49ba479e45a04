"""A sweep that is followed: its table in place on a terminal, a line a change elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from spotrain.cli import output
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.sweep_results import (
    Result,
    arranged,
    failed,
    have_ended,
    headline,
    news,
    summary_of_end,
    tabulate,
)
from spotrain.cli.wording import span

if TYPE_CHECKING:
    from rich.console import RenderableType


def follow(sweep: str, changes: Iterable[Sequence[Result]], *, sort: str, local: bool) -> None:
    """Until all have ended; exits with 1 where one has failed. `changes` raises UserError."""
    found: Sequence[Result] = ()
    with _display(sweep, sort) as show:
        for found in changes:
            show(found)
            if have_ended(found):
                break
    if not sys.stdout.isatty():
        output.show(tabulate(arranged(found, sort), sort=sort))
    output.say(summary_of_end(sweep, found, local=local))
    if failed(found):
        raise typer.Exit(JOB_FAILED)


@contextmanager
def _display(sweep: str, sort: str) -> Iterator[Callable[[Sequence[Result]], None]]:
    if not sys.stdout.isatty():
        yield _tell_changes(sweep)
        return
    from rich.live import Live

    latest: Sequence[Result] = ()
    changed_at = time.monotonic()

    def show(found: Sequence[Result]) -> None:
        nonlocal latest, changed_at
        latest, changed_at = found, time.monotonic()

    with Live(
        get_renderable=lambda: (
            draw(sweep, latest, sort, quiet_seconds=time.monotonic() - changed_at) if latest else ""
        ),
        refresh_per_second=output.REFRESHES_PER_SECOND,
        vertical_overflow="visible",
    ):
        yield show


def draw(
    sweep: str, found: Sequence[Result], sort: str, *, quiet_seconds: float
) -> "RenderableType":
    """The table, and below it a line that goes on while nothing changes."""
    from rich.console import Group
    from rich.text import Text

    line = f"{headline(sweep, found)}; last change {span(quiet_seconds)} ago"
    return Group(tabulate(arranged(found, sort), sort=sort), Text(line))


def _tell_changes(sweep: str) -> Callable[[Sequence[Result]], None]:
    """All of it at first, then each job whose state has changed, and all of it again."""
    before: Sequence[Result] = ()

    def tell(found: Sequence[Result]) -> None:
        nonlocal before
        lines = news(before, found)
        if lines:
            print(*(lines if before else ()), headline(sweep, found), sep="\n", flush=True)
        before = found

    return tell
