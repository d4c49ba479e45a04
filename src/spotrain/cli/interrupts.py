"""Ctrl-C and other signals to end: what they may not tear in two, and what is said of what they
left."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final, NoReturn

from spotrain.cli.errors import INTERRUPTED, UserError
from spotrain.cli.output import say
from spotrain.cli.pipes import Unwritten
from spotrain.next_command import next_command

NO_JOB: Final = (
    "no job was made. Code that was sent already lies under output/ by the name of its contents, "
    "in nobody's way, and is not sent again."
)

ENDS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Beside Ctrl-C, which raises KeyboardInterrupt: told to end, and a terminal that is closed."""

Handler = Callable[[int, FrameType | None], object] | signal.Handlers


@dataclass
class Interrupt:
    came: bool = False


@contextmanager
def unbroken(doing: str) -> Iterator[Interrupt]:
    """A first Ctrl-C waits for the end of the context, which then knows that it came.

    For a request whose outcome must be known: once it is on its way, giving it up leaves open
    whether it was granted. A second Ctrl-C breaks it.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(_signal: int, _frame: FrameType | None) -> None:
        if interrupt.came:
            raise KeyboardInterrupt
        interrupt.came = True
        say(f"{doing}; once that is done this ends. Ctrl-C again does not wait for it.")

    with _handled((signal.SIGINT,), note):
        yield interrupt


@contextmanager
def told(what_is_left: str) -> Iterator[None]:
    """Turns Ctrl-C, and an answer that cannot be written, into a UserError that says what they
    left."""
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted(what_is_left) from None
    except Unwritten as error:
        raise UserError(f"{error.message} {what_is_left}", exit_code=error.exit_code) from None


def interrupted(what_is_left: str) -> UserError:
    return UserError(f"interrupted: {what_is_left}", exit_code=INTERRUPTED)


def goes_on(name: str, *, local: bool) -> str:
    """Of a job that was sent."""
    follow = next_command("logs", name, "--follow", local=local)
    remove = next_command("delete", name, local=local)
    return f"{name} was sent and goes on. Next: {follow} shows it, {remove} removes it."


@contextmanager
def ends_tidily() -> Iterator[None]:
    """Let each of `ENDS` leave the context by an exception, as Ctrl-C does."""
    with _handled(ENDS, _leave):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """A second signal does not cut off what the first one has to undo."""
    with _handled((signal.SIGINT, *ENDS), signal.SIG_IGN):
        yield


@contextmanager
def _handled(numbers: Sequence[signal.Signals], handler: Handler) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
