"""Which steps of a job's worlds ended up in the model, and which had to be done again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Steps(Protocol):
    """The steps that a world did, counted over the whole job."""

    @property
    def first_step(self) -> int: ...

    @property
    def last_step(self) -> int: ...

    @property
    def committed_step(self) -> int:
        """The newest step that a published checkpoint holds when this world ends."""


@dataclass(frozen=True)
class StepRange:
    first_step: int
    last_step: int
    committed_step: int


def kept_steps(worlds: Sequence[Steps]) -> list[int]:
    """Steps of each world that are in a checkpoint on which all later worlds built.

    `worlds` are those that did steps, in the order of their numbers.
    """
    kept: list[int] = []
    restored = math.inf  # the step that some later world went on from
    for world in reversed(worlds):
        last = min(world.last_step, world.committed_step, restored)
        kept.append(max(0, int(last) - world.first_step + 1))
        restored = min(restored, world.first_step - 1)
    return kept[::-1]
