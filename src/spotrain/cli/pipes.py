"""Outputs that are closed or full, or that somebody has stopped reading: `spotrain list | head`."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from spotrain.cli.errors import UserError

UNREAD: Final = 141
"""128 + SIGPIPE: how a shell sees programs end that write to nobody."""


class Unwritten(UserError):
    """The answer was not written to its end."""


class _Answer(io.TextIOWrapper):
    """stdout. Its faults are no OSError, which whoever reads files meanwhile would take for one of
    these: SystemExit where the reader has gone, else Unwritten; also whenever it is tried again."""

    _fault: BaseException | None = None

    def write(self, text: str) -> int:
        with self._judged():
            return super().write(text)

    def flush(self) -> None:
        with self._judged():
            super().flush()

    @contextmanager
    def _judged(self) -> Iterator[None]:
        if self._fault:
            raise self._fault
        try:
            yield
        except OSError as error:
            _send_nowhere(self)
            self._fault = fault_of(error)
            raise self._fault from None


def fault_of(error: OSError) -> BaseException:
    """What an output that takes no more means to the program."""
    if isinstance(error, BrokenPipeError):
        return SystemExit(UNREAD)
    return Unwritten(
        f"cannot write the output: {error.strerror}. Make room there, or write it elsewhere."
    )


class _Talk(io.TextIOWrapper):
    """stderr. Where nobody can be told, the answer still counts."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            _send_nowhere(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _send_nowhere(self)


@contextmanager
def open_outputs() -> Iterator[None]:
    """Let a program write to outputs that were closed before it began, and tell faults of its
    outputs from all others."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere:
        answer = _over(_Answer, sys.stdout or nowhere)
        talk = _over(_Talk, sys.stderr or nowhere)
        sys.stdout, sys.stderr = answer, talk
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before
            with suppress(Unwritten):  # it has been told
                answer.detach()
            talk.detach()


def _over(kind: type[io.TextIOWrapper], output: TextIO) -> io.TextIOWrapper:
    """The same output; a letter that its encoding lacks is spelled out."""
    output.flush()
    return kind(
        output.buffer,
        encoding=output.encoding,
        errors="backslashreplace",
        line_buffering=bool(output.line_buffering),
        write_through=getattr(output, "write_through", False),
    )


def _send_nowhere(output: TextIO) -> None:
    """What is still to be written, so that the end of the process finds no fault."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
