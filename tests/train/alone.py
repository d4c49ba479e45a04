"""Training without an agent, in the test's own process, with a notice at a step of its choice."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import spotrain.train as elastic

NOTICED: Final = 128 + signal.SIGTERM
"""How a script ends that has heeded a notice."""


def train_alone(train: Callable[[elastic.Run], None], output: Path) -> int:
    """`python train.py`: 0, or the exit code of a script that was noticed and has saved."""
    with _environment_as_it_was():
        try:
            elastic.run(train, output=output, checkpoint_seconds=3600)
        except SystemExit as left:
            return int(left.code or 0)
    return 0


def notice() -> None:
    """SIGTERM to this process, which is handled before this returns."""
    signal.raise_signal(signal.SIGTERM)


@contextmanager
def _environment_as_it_was() -> Iterator[None]:
    """A run says its place as torchrun does, in variables that others would believe."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
