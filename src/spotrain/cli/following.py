"""A job from its submission to its end: where it is until it speaks, and from then on its lines."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Any, Final, Literal

from spotrain.cli.errors import UserError
from spotrain.cli.job_text import headline, news
from spotrain.cli.job_view import JobView
from spotrain.cli.log_sources import Line
from spotrain.cli.output import REFRESHES_PER_SECOND, say
from spotrain.cli.pacing import Pace
from spotrain.cli.status import draw

LAST_LINES_SECONDS: Final = 30.0
"""How long the last lines may take from the job's end to here: somebody else reads them first."""


@dataclass(frozen=True)
class _End:
    """Of one of the two streams."""

    of: Literal["job", "lines"]
    error: BaseException | None = None


def follow(views: Iterable[JobView], lines: Iterable[Line]) -> JobView | None:
    """Show both until the job has ended and has said all; returns how it was last seen.

    Lines go to stdout. Where no more can be had, that is said, and the job is followed without.
    Raises UserError where the job itself can no longer be seen.
    """
    news: Queue[JobView | Line | _End] = Queue()
    _read(_until_finished(views), "job", news)
    _read(lines, "lines", news)
    last: JobView | None = None
    has_spoken = False
    open_streams = {"job", "lines"}
    with ExitStack() as shown:
        tell = shown.enter_context(_whereabouts())
        while open_streams:
            try:
                item = news.get(timeout=None if "job" in open_streams else LAST_LINES_SECONDS)
            except Empty:
                break
            match item:
                case Line():
                    if not has_spoken:
                        shown.close()
                        tell, has_spoken = _tell_changes_of_state(last), True
                    print(f"[{item.worker}] {item.text}", flush=True)
                case _End():
                    open_streams.discard(item.of)
                    if item.of == "lines" and isinstance(item.error, UserError):
                        say(f"No more lines: {item.error.message}")
                    elif item.error:
                        raise item.error
                case _:
                    last = item
                    tell(item)
    return last


def _until_finished(views: Iterable[JobView]) -> Iterator[JobView]:
    for seen in views:
        yield seen
        if seen.status.finished:
            return


def _read(source: Iterable[Any], of: Literal["job", "lines"], news: "Queue[Any]") -> None:
    """In a thread that does not outlive the command: both streams block."""

    def run() -> None:
        try:
            for item in source:
                news.put(item)
        except BaseException as error:
            news.put(_End(of, error))
        else:
            news.put(_End(of))

    Thread(target=run, name=of, daemon=True).start()


@contextmanager
def _whereabouts() -> Iterator[Callable[[JobView], None]]:
    """Redrawn in place on a terminal, until the context is closed; a line a change elsewhere."""
    if not sys.stderr.isatty():
        yield _tell_changes()
        return
    from rich.console import Console
    from rich.live import Live

    shown: list[JobView] = []
    with Live(
        get_renderable=lambda: draw(shown[-1]) if shown else "",
        console=Console(stderr=True),
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
    ) as display:

        def tell(seen: JobView) -> None:
            shown[:] = [seen]
            display.refresh()

        yield tell


def _tell_changes() -> Callable[[JobView], None]:
    pace = Pace()

    def tell(seen: JobView) -> None:
        why = seen.why
        reason = f": {why.message}" if why and why.message and not seen.status.finished else ""
        line = f"{headline(seen)}{reason}"
        if pace.is_due(f"{news(seen)}{reason}", line):
            say(line)

    return tell


def _tell_changes_of_state(before: JobView | None) -> Callable[[JobView], None]:
    """Between lines, only what tells why there are none for a while."""
    state = before.state if before else ""

    def tell(seen: JobView) -> None:
        nonlocal state
        if seen.state != state:
            say(headline(seen))
            state = seen.state

    return tell
