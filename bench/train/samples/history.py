"""What happens to one job: the sizes of its worlds, how long each trains and how it ends."""

import random
from dataclasses import dataclass
from typing import Final, Literal

MOST_RANKS: Final = 16


@dataclass(frozen=True, kw_only=True)
class World:
    size: int
    """Ranks in it."""
    steps: int | None
    """Steps it does before it ends; None: to the end of the job."""
    ends_by: Literal["kill", "notice"]
    """A kill loses what was done since the last save; a notice saves first."""


@dataclass(frozen=True, kw_only=True)
class History:
    """One job, the same for every sampler that is tried on it."""

    seed: int
    samples: int
    """In the data set."""
    batch_size: int
    """Samples of one rank in one step."""
    save_every: int
    """Steps between saves."""
    epochs: int
    worlds: tuple[World, ...]


def draw(seed: int) -> History:
    """A history from its seed; the last of its 4 to 10 worlds trains until the job is done.

    Sizes are chosen so that most changes fall into the midst of the two epochs.
    """
    chance = random.Random(seed)
    worlds = [
        World(
            size=chance.randint(1, MOST_RANKS),
            steps=chance.randint(1, 30),
            ends_by=chance.choice(("kill", "notice")),
        )
        for _ in range(chance.randint(3, 9))
    ]
    last = World(size=chance.randint(1, MOST_RANKS), steps=None, ends_by="notice")
    return History(
        seed=seed,
        samples=chance.randint(2000, 6000),
        batch_size=chance.randint(1, 16),
        save_every=chance.randint(1, 15),
        epochs=2,
        worlds=(*worlds, last),
    )
