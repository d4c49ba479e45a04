"""Which ranks hang: what is asked of the members of a world that does no step, and concluded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spotrain import worlds
from spotrain.coordinator import protocol

INSPECT_SECONDS: Final = 3.0
"""A world that hangs is ended after this time, whether or not all of its agents have answered."""
MAX_GROUPS: Final = 4
"""Ranks are told together that are at the same place; more places than these are only counted."""
MAX_PLACE: Final = 160
"""Characters of a place: the whole has to fit into an event of Kubernetes, 1024 characters."""


@dataclass
class Inquiry:
    """Open until every member has answered, or the time for that is over."""

    world: worlds.World
    cause: str
    """Why the world is about to be ended."""
    answers: dict[str, Mapping[int, protocol.RankState]] = field(default_factory=dict)
    """Pod -> its ranks, by their local rank."""

    def take(self, pod: str, message: protocol.Inspected) -> None:
        if message.world == self.world.number and pod in self.world.ids:
            self.answers[pod] = {state.local_rank: state for state in message.ranks}

    @property
    def is_complete(self) -> bool:
        return len(self.answers) == self.world.size

    def conclusion(self) -> str:
        """The cause, and which ranks are behind, where."""
        return f"{self.cause}; {describe(self.world, self.answers)}"

    def stacks(self) -> Mapping[int, str]:
        """Rank -> what was seen of its threads."""
        seen = _by_rank(self.world, self.answers)
        return {rank: state.stacks for rank, state in seen.items() if state and state.stacks}


@dataclass(frozen=True, order=True)
class _Place:
    """Ordered by how likely a rank holds up the others."""

    speaks: bool
    """A rank that could not even write its stacks is stopped, or waits in the kernel."""
    step: int
    batches: int
    words: str

    @classmethod
    def of(cls, state: protocol.RankState | None) -> "_Place":
        if state is None:
            return cls(False, -2, 0, "did not answer")
        speaks, where = bool(state.stacks), f", {_where(state)}" if state.place else ""
        if state.step is None:
            return cls(speaks, -1, 0, f"had not begun{where}")
        if not state.batches:
            words = f"without its next batch after step {state.step}{where}"
        else:
            words = f"in step {state.step + 1}{where}"
        return cls(speaks, state.step, state.batches, words)

    @property
    def progress(self) -> tuple[bool, int, int]:
        return self.speaks, self.step, self.batches


def _where(state: protocol.RankState) -> str:
    return state.place[:MAX_PLACE].replace("\n", " ")


def describe(world: worlds.World, answers: Mapping[str, Mapping[int, protocol.RankState]]) -> str:
    """Who is behind whom, the last ones first; ranks at the same place are told together."""
    groups: dict[_Place, list[int]] = {}
    for rank, state in _by_rank(world, answers).items():
        groups.setdefault(_Place.of(state), []).append(rank)
    places = sorted(groups)
    best = max(place.progress for place in places)
    behind = [place for place in places if place.progress < best]
    told = [f"{_names(groups[place])}: {place.words}" for place in places[:MAX_GROUPS]]
    if len(places) > MAX_GROUPS:
        others = sum(len(groups[place]) for place in places[MAX_GROUPS:])
        told.append(f"{others} more ranks elsewhere")
    if not behind:
        return f"all ranks had come equally far ({'; '.join(told)})"
    names = _names(sorted(rank for place in behind for rank in groups[place]))
    return f"behind or stuck: {names} ({'; '.join(told)})"


def _by_rank(
    world: worlds.World, answers: Mapping[str, Mapping[int, protocol.RankState]]
) -> dict[int, protocol.RankState | None]:
    """Every rank of the world; None for one of which nothing is known."""
    found: dict[int, protocol.RankState | None] = {}
    for seat in world.seats:
        of_pod = answers.get(seat.id, {})
        first = len(found)
        found |= {first + local: of_pod.get(local) for local in range(seat.ranks)}
    return found


def _names(ranks: Sequence[int]) -> str:
    """rank 3; ranks 0-2, 5"""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    told = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"rank {told}" if len(ranks) == 1 else f"ranks {told}"
