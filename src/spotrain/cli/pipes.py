"""Outputs that are closed, or that somebody has stopped reading: `spotrain list | head -1`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

UNREAD: Final = 141
"""128 + SIGPIPE: how a shell sees programs end that write to nobody."""


@contextmanager
def open_outputs() -> Iterator[None]:
    """Let a program write to outputs that were closed before it began, and end it quietly where a
    reader has gone before all was written."""
    with open(os.devnull, "w") as nowhere:
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
        try:
            yield
        finally:
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                end_unread()


def end_unread() -> NoReturn:
    """What is still to be written goes nowhere, so that the end of the process finds no fault."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    raise SystemExit(UNREAD)
