"""What happens to a job of this machine, as it is told to whoever watches. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from spotrain.counts import count
from spotrain.worlds.history import Chapter


@dataclass(frozen=True)
class Happening:
    """One line of the story, for whoever shows it."""

    at: float
    text: str


def tell_of_worlds(history: Sequence[Chapter], *, told: int) -> Iterator[tuple[int, str]]:
    """(number, line) of each world above `told` that trains: how it differs from the one before,
    and what the change cost."""
    trained = [world for world in history if world.first_step is not None]
    for before, world in pairwise((None, *trained)):
        if world is None or world.number <= told:
            continue
        cost = ""
        if before and before.pause_seconds is not None:
            pause, lost = before.pause_seconds, before.steps_lost
            cost = f" after a pause of {pause:.2f} s, {count(lost or 0, 'step')} lost"
        workers = "1 worker trains" if world.size == 1 else f"{world.size} workers train"
        yield world.number, f"world {world.number}: {workers}{cost}"
