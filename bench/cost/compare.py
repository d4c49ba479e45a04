"""Who is compared on which traces, and what comes of it. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench.cost.figures import Figures
from spotrain.ledger.replay import Behaviour
from spotrain.ledger.simulation import Prices, Runtime, best_interval, simulate
from spotrain.ledger.traces import Trace

DISCOUNT: Final = 0.7
NODES: Final = 16
TEN_MINUTES: Final = 600.0
ASSUMED_RESTART_SECONDS: Final = 300.0
ORACLE: Final = "an oracle: no pause, no save, nothing lost"
OURS: Final = "ours, every loss with notice"


@dataclass(frozen=True, kw_only=True)
class Contender:
    runtime: Runtime
    interval: str = "fixed"
    """fixed; young: from its cost and the trace's rate of drops; best: of all, on this trace."""


def contenders(figures: Figures) -> list[Contender]:
    noticed = Behaviour(
        pause_seconds=figures.planned.seconds,
        loss_pause_seconds=figures.loss.seconds,
        has_notice=True,
        save_seconds=figures.save.seconds,
        interval_seconds=TEN_MINUTES,
    )
    stock = Behaviour(
        pause_seconds=figures.stock.seconds,
        has_notice=False,
        save_seconds=figures.torch_save.seconds,
        interval_seconds=TEN_MINUTES,
        growth_loses=True,  # a newcomer stops all workers in the middle of a step
    )
    restart = replace(stock, pause_seconds=ASSUMED_RESTART_SECONDS, growth_loses=False)
    oracle = Behaviour(pause_seconds=0, has_notice=True)
    return [
        _contender(ORACLE, oracle),
        _contender(OURS, noticed),
        _contender("ours, one loss in ten without", replace(noticed, unnoticed=0.1), "young"),
        _contender("ours, none with notice", replace(noticed, has_notice=False), "young"),
        _contender("ours, a pause of 10 s (assumed)", _slower(noticed, 10)),
        _contender("ours, a pause of 60 s (assumed)", _slower(noticed, 60)),
        _contender("torchrun, tuned", replace(stock, pause_seconds=figures.tuned.seconds)),
        _contender("torchrun, stock", stock),
        _contender("torchrun, stock, best interval", stock, "best"),
        _contender("full restart, 300 s (assumed)", restart),
        _contender("full restart, best interval", restart, "best"),
    ]


def _contender(name: str, behaviour: Behaviour, interval: str = "fixed") -> Contender:
    runtime = Runtime(name=name, about="", behaviour=behaviour)
    return Contender(runtime=runtime, interval=interval)


def _slower(behaviour: Behaviour, seconds: float) -> Behaviour:
    return replace(behaviour, pause_seconds=seconds, loss_pause_seconds=seconds)


def sampled(trace: Trace, nodes: int = NODES) -> Trace:
    """As though the fleet were of `nodes` at its largest: each count is its share, rounded half up;
    where there was nobody, there is nobody."""
    return trace.scaled(most=trace.most, to=nodes, least=0)


def young_interval(trace: Trace, save_seconds: float, unnoticed: float) -> float:
    """sqrt(2 C M): M is the mean time between two drops of which no notice comes."""
    return math.sqrt(2 * save_seconds * trace.seconds / max(1.0, trace.drops * unnoticed))


def compare(traces: Mapping[str, Trace], figures: Figures) -> list[dict[str, Any]]:
    """A row for each contender on each trace."""
    prices = Prices(on_demand_usd=1.0, discount=DISCOUNT)
    return [
        _row(name, trace, each, prices)
        for name, trace in traces.items()
        for each in contenders(figures)
    ]


def _row(name: str, trace: Trace, contender: Contender, prices: Prices) -> dict[str, Any]:
    runtime = contender.runtime
    behaviour = runtime.behaviour
    if contender.interval == "young":
        unnoticed = behaviour.unnoticed if behaviour.has_notice else 1.0
        interval = young_interval(trace, behaviour.save_seconds, unnoticed)
        behaviour = replace(behaviour, interval_seconds=interval)
    elif contender.interval == "best":
        best, _ = best_interval(trace, behaviour)
        behaviour = replace(behaviour, interval_seconds=best or math.inf)
    found = simulate(trace, replace(runtime, behaviour=behaviour), prices)
    interval = behaviour.interval_seconds
    return {
        "trace": name,
        "who": runtime.name,
        "goodput": round(found.goodput, 4),
        "saved": None if found.saving.fraction is None else round(found.saving.fraction, 4),
        "interval_seconds": None if math.isinf(interval) else round(interval, 1),
    }


def described(traces: Mapping[str, Trace]) -> Sequence[dict[str, Any]]:
    return [
        {
            "trace": name,
            "hours": round(trace.seconds / 3600, 1),
            "most": trace.most,
            "mean": round(trace.node_seconds / trace.seconds, 1),
            "drops": trace.drops,
        }
        for name, trace in traces.items()
    ]
