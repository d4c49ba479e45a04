"""How much of what its nodes could have done a job kept, and where the rest went.

    G = samples in committed new steps / integral over time of R(nodes alive)

R(k) is the measured full speed of k nodes, in samples a second. That is the program goodput of
Google's ML productivity goodput and DLRover's goodput (time in useful new steps / elapsed time),
weighted by the nodes that were alive: Meta's effective training time ratio, ETTR, for a job whose
size changes. A node that waits, a step done twice and a pause all count against it; slow hardware
and imperfect scaling do not, since R is measured on the same nodes, and time without any node does
not, since it costs nothing.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Final, Literal

from spotrain.ledger.kept_steps import kept_steps

Reason = Literal["notice", "growth", "loss", "failure", "finished"]
Interval = tuple[float, float]
"""Start and end of a node's life, in seconds on the same clock as the worlds."""

CAUSES: Final = ("starting", "forming", "redone", "idle", "stalled", "closing")
EVERYONE: Final = sys.maxsize


@dataclass(frozen=True, kw_only=True)
class WorldRecord:
    """One world of a job, as the coordinator and its members saw it. Times are in seconds."""

    number: int
    size: int
    """Nodes in it."""
    reason: Reason
    """Why it ended."""
    published_at: float
    first_step_at: float | None
    """When its first step was done; this and the next three are None if it never did one."""
    last_step_at: float | None
    first_step: int | None
    last_step: int | None
    ended_at: float
    committed_step: int
    """The newest step that a published checkpoint holds when this world ends."""
    samples_per_step: float
    """Of all ranks together."""
    pause_seconds: float = 0.0
    """From the event that ended the world before to this world's first step: for the reader."""
    steps_lost: int = 0
    """Steps of the world before that have to be done again: for the reader."""


@dataclass(frozen=True)
class Goodput:
    fraction: float
    useful_seconds: float
    """How long the kept steps take at full speed of the world that did them."""
    useful_samples: float
    capacity_samples: float
    lost: Mapping[str, float]
    """Share of the capacity by cause; the shares add up to 1 - fraction.

    starting: from the first node to the first step of the job
    forming:  the members of a world stand still from the last step of one to the first of the next
    redone:   steps that no later world built on
    idle:     nodes alive outside the world: joining, spare, or on their way out
    stalled:  inside a world, time beyond what its steps take at full speed; with speeds taken
              from the records this evens out over worlds of a size
    closing:  from the last step of the job to the end of its nodes
    """


def goodput(
    worlds: Sequence[WorldRecord],
    nodes: Sequence[Interval],
    *,
    full_speed: Mapping[int, float] | None = None,
) -> Goodput:
    """Judge a job by its worlds and by the lives of its nodes.

    `full_speed` gives samples a second by number of nodes, as measured on an undisturbed job;
    without it, it is what the worlds themselves did between their first and last step, which
    hides what slows all worlds alike (validation, a checkpoint's stall, a neighbour's start).
    """
    trained = [span for world in worlds if (span := _Training.of(world))]
    trained.sort(key=lambda training: training.number)
    speed = _Speed(full_speed or _measured(trained))
    timeline = list(_alive(nodes))
    capacity = sum((end - start) * speed(alive) for start, end, alive in timeline)
    if capacity <= 0:
        raise ValueError(
            f"nodes is {list(nodes)!r}, but goodput needs the lives of the job's nodes"
        )
    useful = useful_seconds = redone = 0.0
    for training, kept in zip(trained, kept_steps(trained), strict=True):
        useful += kept * training.samples_per_step
        useful_seconds += kept * training.samples_per_step / speed(training.size)
        redone += (training.steps - kept) * training.samples_per_step
    lost = {"redone": redone} | _standing(trained, timeline, speed)
    # They could do at least what they did: two workers that share a processor are slower than one.
    capacity = max(capacity, useful + sum(lost.values()))
    lost["stalled"] = capacity - useful - sum(lost.values())
    shares = {cause: lost[cause] / capacity for cause in CAUSES}
    return Goodput(useful / capacity, useful_seconds, useful, capacity, shares)


@dataclass(frozen=True, kw_only=True)
class _Training:
    """A world that did steps."""

    number: int
    size: int
    published_at: float
    first_step_at: float
    last_step_at: float
    first_step: int
    last_step: int
    committed_step: int
    samples_per_step: float

    @classmethod
    def of(cls, world: WorldRecord) -> "_Training | None":
        times = (world.first_step_at, world.last_step_at, world.first_step, world.last_step)
        if None in times:
            return None
        return cls(**{field.name: getattr(world, field.name) for field in fields(cls)})

    @property
    def steps(self) -> int:
        return self.last_step - self.first_step + 1


class _Speed:
    """R(k), in samples a second; a size that was not measured scales from the nearest that was."""

    def __init__(self, measured: Mapping[int, float]) -> None:
        if not measured or min(measured.values()) <= 0:
            raise ValueError(
                f"full speed is {dict(measured)!r}, but must be above 0 and known for one size at "
                "least: where no world did two steps, in which it shows, pass full_speed"
            )
        self.measured = measured

    def __call__(self, nodes: int) -> float:
        nearest = min(self.measured, key=lambda size: (abs(size - nodes), size))
        return self.measured[nearest] * nodes / nearest


def _measured(trained: Sequence[_Training]) -> dict[int, float]:
    """All samples over all seconds between first and last step, by world size."""
    samples: dict[int, float] = defaultdict(float)
    seconds: dict[int, float] = defaultdict(float)
    for training in trained:
        if training.last_step > training.first_step:
            between = training.last_step - training.first_step
            samples[training.size] += between * training.samples_per_step
            seconds[training.size] += training.last_step_at - training.first_step_at
    return {size: samples[size] / seconds[size] for size in samples if seconds[size] > 0}


def _alive(nodes: Sequence[Interval]) -> Iterator[tuple[float, float, int]]:
    """The job's time, cut wherever the number of live nodes changes."""
    changes: Counter[float] = Counter()
    for start, end in nodes:
        if end < start:
            raise ValueError(f"a node's life is {(start, end)}, but must be (start, end) in order")
        changes[start] += 1
        changes[end] -= 1
    alive = 0
    for start, end in pairwise(sorted(changes)):
        alive += changes[start]
        yield start, end, alive


def _standing(
    trained: Sequence[_Training], timeline: Sequence[tuple[float, float, int]], speed: _Speed
) -> dict[str, float]:
    """Samples that live nodes did not do because they stood outside a training world."""
    lost = dict.fromkeys(("starting", "forming", "idle", "closing"), 0.0)
    for cause, begin, finish, size in _phases(trained, speed):
        for start, end, alive in timeline:
            seconds = min(end, finish) - max(start, begin)
            if seconds <= 0:
                continue
            members = min(speed(alive), speed(min(alive, size)))
            lost["idle"] += seconds * (speed(alive) - members)
            if cause != "training":
                lost[cause] += seconds * members
    return lost


def _phases(trained: Sequence[_Training], speed: _Speed) -> Iterator[tuple[str, float, float, int]]:
    """What the job as a whole was at: cause, start, end and the size of the world concerned.

    A world trains from one step's time before its first step was done, but not before it was
    published or while the one before it still trained. Before and after all training, every live
    node belongs to the phase: nobody is idle for want of a world.
    """
    cause, end = "starting", float("-inf")
    for training in trained:
        first = training.first_step_at - training.samples_per_step / speed(training.size)
        begin = max(first, training.published_at, end)
        size = training.size if cause == "forming" else EVERYONE
        yield cause, end, begin, size
        yield "training", begin, training.last_step_at, training.size
        cause, end = "forming", max(begin, training.last_step_at)
    yield ("closing" if trained else "starting"), end, float("inf"), EVERYONE
