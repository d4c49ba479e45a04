"""What a shell offers when somebody presses TAB behind a name: in time and without a word, or
nothing."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

LIMIT_SECONDS: Final = 2.0
"""Longer nobody waits for a TAB, whatever a cluster or its credentials are waiting for."""


def names_of_jobs(*, context: str | None, namespace: str | None, local: bool) -> Sequence[str]:
    """None where they cannot be had: there is nobody to tell why."""
    from spotrain.cli.jobs import opened

    try:
        with (
            _within(LIMIT_SECONDS),
            opened(context=context, namespace=namespace, local=local) as jobs,
        ):
            return jobs.names()
    except Exception:  # a traceback would stand amid what is being typed
        return []


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError inside. By the process's alarm, which also ends waiting for a program
    that fetches credentials."""

    def ring(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
