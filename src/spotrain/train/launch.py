"""`run`: call a training function in world after world, until it returns."""

import importlib
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from torch.distributed.elastic.multiprocessing.errors import record

from spotrain.agent.rank import Channel
from spotrain.checkpoints.retention import Retention
from spotrain.train.group import leave_world
from spotrain.train.own_loop import catalogue_of
from spotrain.train.pace import Pace
from spotrain.train.saver import Saver
from spotrain.train.session import Run
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import PeerLost, WorldChanged, WorldEnded, is_lost_peer

log = logging.getLogger(__name__)
Result = TypeVar("Result")


def run(
    train: Callable[[Run], Result],
    *,
    output: str | Path,
    seed: int = 0,
    checkpoint_seconds: float | None = None,
    fit_notice: bool = True,
    keep: int = 3,
    keep_hours: float | None = None,
) -> Result:
    """Call `train(run)`, again and again after losses, until it returns; returns what it returned.

    Args:
        output: folder on a file system that all workers share, s3://<bucket>/<prefix> or
            gs://<bucket>/<prefix>; checkpoints go to `<output>/checkpoints`. Where there are any,
            training goes on.
        seed: of the data order and of the random generators.
        checkpoint_seconds: from one save to the next, and so the most work that a loss without
            notice costs. None: from what a save costs and how often work is lost (see `interval`).
        fit_notice: refuse to train where a save takes longer than a notice leaves time for.
        keep: checkpoints that stay; the newest intact one always does.
        keep_hours: checkpoints older than this go, even if they are among the newest `keep`.
    """
    _show_messages()
    recorded = record(_run_worlds)  # what ends it is written to the agent's error file
    retention = Retention(keep=keep, keep_hours=keep_hours)
    pace = Pace(checkpoint_seconds, fit_notice=fit_notice)
    result = recorded(train, output, seed, pace, retention)
    return cast(Result, result)


def _run_worlds(
    train: Callable[[Run], Result],
    output: str | Path,
    seed: int,
    pace: Pace,
    retention: Retention,
) -> Result:
    importlib.import_module("torch._dynamo")  # 1 s at the first optimizer, while others wait
    channel = Channel.from_environment()
    if channel is not None:
        return _run_on(channel, train, output, seed, pace, retention)
    alone = SoloChannel()
    with alone.heeding_notices():
        try:
            return _run_on(alone, train, output, seed, pace, retention)
        finally:
            leave_world()  # after an error too: a notebook tries again in the same process


def _run_on(
    channel: Channel | SoloChannel,
    train: Callable[[Run], Result],
    output: str | Path,
    seed: int,
    pace: Pace,
    retention: Retention,
) -> Result:
    catalogue = catalogue_of(output)
    saver = Saver(catalogue, channel, retention)
    previous_step: int | None = None
    survivor = False
    while True:
        newest = catalogue.newest_published()
        channel.arrive(survivor=survivor, floor=newest.world if newest else 0)
        place = channel.next_world()
        session = Run(
            channel,
            catalogue,
            saver,
            seed=seed,
            pace=pace,
            previous_step=previous_step,
        )
        try:
            session.membership.enter(place)
            return _train(train, session)
        except WorldChanged as changed:
            traceback.clear_frames(changed.__traceback__)
            number, previous_step, survivor = session.world, session.steps_done, True
            session.membership.leave()
            del session
            channel.drained(number)
            continue
        except WorldEnded as ended:
            message, excused = str(ended), not isinstance(ended, PeerLost)
            traceback.clear_frames(ended.__traceback__)
        except RuntimeError as error:
            if not is_lost_peer(error):
                raise
            message, excused = f"{type(error).__name__}: {error}", False
            # Frees models, replicas and data loaders that the failed call still holds.
            traceback.clear_frames(error.__traceback__)
        log.warning("world %d is over for rank %d: %s", session.world, session.rank, message)
        number = session.world
        previous_step, survivor = session.steps_done, True
        saver.abandon()
        session.membership.leave()
        del session
        channel.broken(number, message, excused=excused)


def _train(train: Callable[[Run], Result], session: Run) -> Result:
    """Call `train`, then commit the last state. An exit with code 0 is a return, and goes on to end
    the process; one with another code ends it as it is."""
    try:
        result = train(session)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            raise
        session.membership.finish()
        raise
    session.membership.finish()
    return result


def _show_messages() -> None:
    """Say where training goes on, even if the script has not set up logging."""
    ours = logging.getLogger("spotrain")
    if not logging.getLogger().handlers and not ours.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("spotrain: %(message)s"))
        ours.addHandler(handler)
        ours.setLevel(logging.INFO)
        ours.propagate = False
