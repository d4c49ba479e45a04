"""A sweep that is followed: its table in place on a terminal, a line a change elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

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

LOOK_SECONDS: Final = 2.0


def follow(sweep: str, look: Callable[[], Sequence[Result]], *, sort: str) -> None:
    """Until all have ended; exits with 1 where one has failed. `look` raises UserError."""
    with _display(sort) as show:
        while True:
            found = look()
            show(headline(sweep, found), found)
            if have_ended(found):
                break
            time.sleep(LOOK_SECONDS)
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

    with Live(auto_refresh=False, vertical_overflow="visible") as live:
        yield lambda _line, found: live.update(
            tabulate(arranged(found, sort), sort=sort), refresh=True
        )


def _tell_changes() -> Callable[[str, Sequence[Result]], None]:
    said = ""

    def tell(line: str, _found: Sequence[Result]) -> None:
        nonlocal said
        if line != said:
            print(line, flush=True)
            said = line

    return tell
