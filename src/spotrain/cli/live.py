"""A display that follows a job: redrawn in place on a terminal; elsewhere a line a change, and now
and then one of the step."""

import sys
from collections.abc import Callable, Generator, Iterable
from itertools import chain
from typing import TYPE_CHECKING

from spotrain.cli.job_text import headline, news
from spotrain.cli.job_view import JobView
from spotrain.cli.output import REFRESHES_PER_SECOND
from spotrain.cli.pacing import Pace

if TYPE_CHECKING:
    from rich.console import RenderableType


def follow(
    views: Iterable[JobView],
    draw: "Callable[[JobView], RenderableType]",
    *,
    until: Callable[[JobView], bool],
) -> JobView | None:
    """Show each view until one holds, or there are no more; returns the last one."""
    shown = _in_place(views, draw) if sys.stdout.isatty() else _line_by_line(views)
    last = None
    for last in shown:
        if until(last):
            break
    shown.close()
    return last


def _in_place(
    views: Iterable[JobView], draw: "Callable[[JobView], RenderableType]"
) -> Generator[JobView, None, None]:
    from rich.live import Live

    remaining = iter(views)
    latest = next(remaining, None)
    if latest is None:
        return
    shown = latest
    with Live(
        get_renderable=lambda: draw(shown), refresh_per_second=REFRESHES_PER_SECOND
    ) as display:
        for shown in chain((latest,), remaining):
            display.refresh()
            yield shown


def _line_by_line(views: Iterable[JobView]) -> Generator[JobView, None, None]:
    pace = Pace()
    for seen in views:
        line = headline(seen)
        if pace.is_due(news(seen), line):
            print(line, flush=True)
        yield seen
