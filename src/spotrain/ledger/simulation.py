"""What a job would take and cost on a trace of spot capacity, under one runtime or another.

    saved = 1 - (1 - discount) / goodput, against as many on-demand nodes that are never taken back

All are treated as though they trained on with whatever nodes are left, and lost nothing else than
the trace takes: that is kind to those that restart or need all their workers.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spotrain.ledger.cost import Saving, saving_at
from spotrain.ledger.replay import Behaviour, Replayed, linear, replay
from spotrain.ledger.traces import Trace

MOST_REPEATS: Final = 200
"""Times that a trace is played anew for a job that is longer than it."""
INTERVAL_STEP: Final = 1.15
"""From one interval that is tried to the next: goodput is flat around the best one."""
SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class Runtime:
    name: str
    about: str
    behaviour: Behaviour


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Of one node for one hour."""

    on_demand_usd: float
    discount: float
    """Of spot nodes, as a share of the on-demand price."""

    def __post_init__(self) -> None:
        if not 0 <= self.on_demand_usd < math.inf:
            raise ValueError(f"the price is {self.on_demand_usd} dollars, but must be 0 or more")
        if not 0 <= self.discount <= 1:
            raise ValueError(
                f"the discount is {self.discount}, but must be a share of the price from 0 to 1"
            )

    @property
    def spot_usd(self) -> float:
        return self.on_demand_usd * (1 - self.discount)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    runtime: Runtime
    goodput: float
    hours: float | None
    """Until the work was done; None: it never was."""
    node_hours: float
    saving: Saving
    best_interval_seconds: float | None
    """Between two checkpoints, for the highest goodput; None: the fewer, the better."""
    best_goodput: float


def simulate(
    trace: Trace, runtime: Runtime, prices: Prices, *, work_hours: float | None = None
) -> Outcome:
    """Play a job on a trace that is as large as the job; one that is too short is repeated.

    Args:
        work_hours: what the job would take on the trace's largest number of nodes, undisturbed;
            None: it trains as long as the trace lasts.

    Raises:
        ValueError: the trace has no nodes at any time.
    """
    played = _play(trace, runtime.behaviour, work_hours)
    node_hours = played.capacity / SECONDS_PER_HOUR
    interval, best = best_interval(trace, runtime.behaviour)
    return Outcome(
        runtime=runtime,
        goodput=played.goodput,
        hours=played.seconds / SECONDS_PER_HOUR if work_hours is None or played.is_done else None,
        node_hours=node_hours,
        saving=saving_at(
            node_hours=node_hours,
            usd_per_hour=prices.spot_usd,
            on_demand_usd_per_hour=prices.on_demand_usd,
            goodput=played.goodput,
        ),
        best_interval_seconds=interval,
        best_goodput=best,
    )


def _play(trace: Trace, behaviour: Behaviour, work_hours: float | None) -> Replayed:
    """Node seconds, which are the work too: every node adds the same."""
    if work_hours is None:
        return replay(trace, behaviour)
    work = work_hours * SECONDS_PER_HOUR * linear(trace.most)
    times = 1
    while True:
        played = replay(trace.repeated(times), behaviour, work=work)
        if played.is_done or times >= MOST_REPEATS:
            return played
        times = min(2 * times, MOST_REPEATS)


def best_interval(trace: Trace, behaviour: Behaviour) -> tuple[float | None, float]:
    """The checkpoint interval with the highest goodput on the trace, and that goodput."""
    tried = {
        interval: replay(trace, replace(behaviour, interval_seconds=interval)).goodput
        for interval in _intervals(trace, behaviour)
    }
    best = max(tried.values())
    # Of those that are as good, the shortest: it loses the least where the trace is wrong.
    interval = min(interval for interval, goodput in tried.items() if goodput >= best - 1e-9)
    return (None if math.isinf(interval) else interval), best


def _intervals(trace: Trace, behaviour: Behaviour) -> Iterator[float]:
    """From a save on, upwards; none at all comes last."""
    interval = max(5.0, behaviour.save_seconds)
    while interval < trace.seconds:
        yield interval
        interval *= INTERVAL_STEP
    yield math.inf
