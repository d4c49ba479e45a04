"""A sweep that is followed: its table in place on a terminal, a line a change elsewhere."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import typer

from spotrain.cli import output
from spotrain.cli.errors import JOB_FAILED
from spotrain.cli.sweep_results import (
    Result,
    arranged,
    failed,
    have_ended,
    headline,
    summary_of_end,
    tabulate,
)


def follow(sweep: str, changes: Iterable[Sequence[Result]], *, sort: str) -> None:
    """Until all have ended; exits with 1 where one has failed. `changes` raises UserError."""
    found: Sequence[Result] = ()
    with _display(sort) as show:
        for found in changes:
            show(headline(sweep, found), found)
            if have_ended(found):
                break
    if not sys.stdout.isatty():
        output.show(tabulate(arranged(found, sort), sort=sort))
    output.say(summary_of_end(sweep, found))
    if failed(found):
        raise typer.Exit(JOB_FAILED)


@contextmanager
def _display(sort: str) -> Iterator[Callable[[str, Sequence[Result]], None]]:
    if not sys.stdout.isatty():
        yield _tell_changes()
        return
    from rich.live import Live

    latest: Sequence[Result] = ()

    def show(_line: str, found: Sequence[Result]) -> None:
        nonlocal latest
        latest = found

    with Live(
        get_renderable=lambda: tabulate(arranged(latest, sort), sort=sort) if latest else "",
        refresh_per_second=output.REFRESHES_PER_SECOND,
        vertical_overflow="visible",
    ):
        yield show


def _tell_changes() -> Callable[[str, Sequence[Result]], None]:
    said = ""

    def tell(line: str, _found: Sequence[Result]) -> None:
        nonlocal said
        if line != said:
            print(line, flush=True)
            said = line

    return tell
