"""What an elastic job would make of a trace of spot capacity: a simulation, and so a limit.

    G = useful samples / integral over time of R(nodes alive)

as in `goodput`. Where the number of nodes changes, the whole job stands still for a pause; nodes
that go without notice take the work since the last checkpoint with them. Real jobs do better where
survivors train on while a newcomer starts, and worse where anything takes longer than it is given.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spotrain.ledger.traces import Trace


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a job meets changes. Times are in seconds."""

    pause_seconds: float
    """From a change until all nodes train again; a change within it begins it anew."""
    loss_pause_seconds: float | None = None
    """The same where nodes went without notice; None: as long."""
    has_notice: bool
    """Work is saved before nodes go, which costs `save_seconds`; without it is lost."""
    unnoticed: float = 0.0
    """Share of the drops of which no notice comes all the same, spread evenly over them."""
    save_seconds: float = 0.0
    """How long training stops for a checkpoint."""
    interval_seconds: float = math.inf
    """Training between two checkpoints."""
    growth_loses: bool = False
    """Whether newcomers interrupt without a save, as they do under torchrun."""

    def __post_init__(self) -> None:
        for name in ("pause_seconds", "save_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be 0 or more")
        if self.loss_pause_seconds is not None and not 0 <= self.loss_pause_seconds < math.inf:
            raise ValueError(
                f"loss_pause_seconds is {self.loss_pause_seconds}, but must be 0 or more"
            )
        if not 0 <= self.unnoticed <= 1:
            raise ValueError(f"unnoticed is {self.unnoticed}, but must be a share of the drops")
        if not self.interval_seconds > 0:
            raise ValueError(f"interval_seconds is {self.interval_seconds}, but must be above 0")


@dataclass(frozen=True)
class Replayed:
    """Samples (or node seconds, without a speed) by what became of them."""

    useful: float
    paused: float
    saving: float
    redone: float
    capacity: float
    seconds: float
    """That were played: the whole trace, or until all the work was done."""
    is_done: bool = False
    """Whether all the work was done that was asked for."""

    @property
    def goodput(self) -> float:
        return self.useful / self.capacity


def linear(nodes: int) -> float:
    """Every node adds the same: what is counted then are node seconds."""
    return float(nodes)


def replay(
    trace: Trace,
    behaviour: Behaviour,
    speed: Callable[[int], float] = linear,
    *,
    work: float = math.inf,
) -> Replayed:
    """Play a trace to its end, or until `work` samples are done; `speed`: samples a second of so
    many nodes.

    The job begins with a pause as well. What is not saved at the end counts, as though the trace
    went on.

    Raises:
        ValueError: there never is a node, so there is nothing to judge.
    """
    job = _Job(behaviour, work)
    before = 0
    played = 0.0
    for start, end, nodes in trace.spans:
        if job.missing <= 0:
            break
        if start > 0:
            job.change(grows=nodes > before, old=speed(before))
        played = start + job.train(end - start, speed(nodes))
        before = nodes
    job.useful += job.unsaved
    if job.capacity <= 0:
        raise ValueError("the trace has no nodes at any time, so no goodput either")
    return Replayed(
        job.useful,
        job.paused,
        job.saving,
        job.redone,
        job.capacity,
        seconds=played,
        is_done=job.useful >= work * (1 - _NOTHING),
    )


_NOTHING: Final = 1e-9
"""Share of all the work that is nothing: what rounding leaves."""


class _Job:
    def __init__(self, behaviour: Behaviour, work: float) -> None:
        self._behaviour = behaviour
        self._work = work
        self._drops = 0
        self._pause_left = behaviour.pause_seconds
        self._since_save = 0.0
        """Seconds of training since the last checkpoint."""
        self._save_left = 0.0
        self.unsaved = self.useful = self.paused = self.saving = self.redone = self.capacity = 0.0

    @property
    def missing(self) -> float:
        """Work that is neither saved nor done since."""
        left = self._work - self.useful - self.unsaved
        return left if left > _NOTHING * self._work or math.isinf(left) else 0.0

    def change(self, *, grows: bool, old: float) -> None:
        """Nodes come or go; `old`: the speed before."""
        behaviour = self._behaviour
        is_noticed = grows or self._has_notice()
        loses = behaviour.growth_loses if grows else not is_noticed
        if loses:
            self.redone += self.unsaved
        elif self.unsaved:
            # The time of this save comes out of what was trained: it ended before the change.
            cost = min(self.unsaved, behaviour.save_seconds * old)
            self.saving += cost
            self.useful += self.unsaved - cost
        self.unsaved = self._since_save = self._save_left = 0.0
        self._pause_left = behaviour.pause_seconds
        if not is_noticed and behaviour.loss_pause_seconds is not None:
            self._pause_left = behaviour.loss_pause_seconds

    def _has_notice(self) -> bool:
        self._drops += 1
        share = self._behaviour.unnoticed
        is_next = int(self._drops * share) > int((self._drops - 1) * share)
        return self._behaviour.has_notice and not is_next

    def train(self, seconds: float, speed: float) -> float:
        """Returns for how long: less than `seconds` where the work was done before."""
        if speed <= 0:
            return seconds
        paused = min(seconds, self._pause_left)
        self._pause_left -= paused
        self.paused += paused * speed
        left = seconds - paused
        while left > 0 and self.missing > 0:
            saving = min(left, self._save_left)
            self._save_left -= saving
            self.saving += saving * speed
            left -= saving
            if left > 0:
                left -= self._step(left, speed)
        self.capacity += (seconds - left) * speed
        return seconds - left

    def _step(self, left: float, speed: float) -> float:
        """Train until the next checkpoint, the end or the last sample; returns for how long."""
        interval = self._behaviour.interval_seconds
        trained = min(left, interval - self._since_save, self.missing / speed)
        self._since_save += trained
        self.unsaved += trained * speed
        if self._since_save >= interval:
            self.useful += self.unsaved
            self.unsaved = self._since_save = 0.0
            self._save_left = self._behaviour.save_seconds
        return trained
