"""The ways of training on spot nodes that a simulation compares. Pure."""

from dataclasses import replace
from typing import Final

from spotrain.ledger.replay import Behaviour
from spotrain.ledger.simulation import Runtime

SPOTRAIN: Final = Runtime(
    name="spotrain",
    about="saves on the notice, re-forms at once",
    behaviour=Behaviour(
        # docs/performance.md measured 0.2 s with a small model on processors. Loading a large one
        # and setting up NCCL come on top, for the rivals too, whose figures stay as measured.
        pause_seconds=10.0,
        has_notice=True,
        save_seconds=1.0,
        interval_seconds=600.0,
    ),
)
TORCHRUN: Final = Runtime(
    name="torchrun",
    about="stock settings; restarts all processes, and saves on no notice",
    behaviour=Behaviour(
        pause_seconds=52.0,  # docs/performance.md, torchrun's defaults, one of two killed
        has_notice=False,
        save_seconds=1.0,
        interval_seconds=600.0,
        growth_loses=True,  # a newcomer stops all workers in the middle of a step
    ),
)
RESTART: Final = Runtime(
    name="restart",
    about="the whole job is started again from its checkpoint",
    behaviour=Behaviour(
        pause_seconds=300.0,  # assumed: pods are scheduled, images start, the model loads
        has_notice=False,
        save_seconds=1.0,
        interval_seconds=600.0,
    ),
)
RUNTIMES: Final = (SPOTRAIN, TORCHRUN, RESTART)


def adapted(
    runtime: Runtime,
    *,
    pause_seconds: float | None = None,
    save_seconds: float | None = None,
    interval_seconds: float | None = None,
    unnoticed: float = 0.0,
) -> Runtime:
    """With other figures. The pause is this runtime's alone, all else is every one's.

    Raises:
        ValueError: a figure is none that can be.
    """
    behaviour = runtime.behaviour
    if save_seconds is not None:
        behaviour = replace(behaviour, save_seconds=save_seconds)
    if interval_seconds is not None:
        behaviour = replace(behaviour, interval_seconds=interval_seconds)
    if runtime is SPOTRAIN:
        behaviour = replace(behaviour, unnoticed=unnoticed)
        if pause_seconds is not None:
            behaviour = replace(behaviour, pause_seconds=pause_seconds)
    return replace(runtime, behaviour=behaviour)
