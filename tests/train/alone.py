"""Training without an agent, in the test's own process, with a notice at a step of its choice."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch

import spotrain.train as elastic

NOTICED: Final = 128 + signal.SIGTERM
"""How a script ends that has heeded a notice."""


def train_alone(train: Callable[[elastic.Run], None], output: Path | str) -> int:
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


class Training(ABC):
    """A job's processes one after another, and what they did together."""

    def __init__(self, output: Path, **arguments: Any) -> None:
        self.output = output
        self.arguments = arguments
        """For the framework's trainer."""
        self.updates: list[tuple[int, float]] = []
        """Number of each optimizer step, and its learning rate."""
        self.weights = torch.zeros(0)

    def start(self, *, notice_at: int | None = None) -> int:
        return train_alone(lambda run: self.train(run, notice_at), self.output)

    @abstractmethod
    def train(self, run: elastic.Run, notice_at: int | None) -> None:
        """One process's part; a notice comes after that step."""


def reaches_last_step_once(training: Training, *, last: int, notice_at: int) -> None:
    assert training.start(notice_at=notice_at) == NOTICED
    assert training.start() == 0
    assert [number for number, _ in training.updates] == list(range(1, last + 1))
    assert training.start() == 0  # a third time: nothing is left to do
    assert len(training.updates) == last


def ends_at_last_step_in_spite_of_notice(training: Training, *, last: int) -> None:
    training.start(notice_at=last)
    assert training.start() == 0
    assert [number for number, _ in training.updates] == list(range(1, last + 1))


@contextmanager
def _environment_as_it_was() -> Iterator[None]:
    """A run says its place as torchrun does, in variables that others would believe."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
