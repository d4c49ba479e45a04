"""Planned changes: a worker on notice leaves, a new one joins; ours beside torchrun.

    python -m bench.train.interruptions.planned [--rounds 5] [--launchers NAME ...] [--dry-run]

A job of two workers grows to three, then one of the three gets its notice, and so on; who gets it
goes through all ranks. In each round all launchers take their turn. torchrun's defaults, which
only wait, go last: growth and notice at once, each on a job of its own.
"""

import argparse
import os
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bench import kept
from bench.machine import begun
from bench.train.interruptions.trials import (
    Trial,
    await_change,
    fresh_team,
    side_by_side,
    tell,
    tell_all,
    try_all,
)
from bench.train.peers import launchers
from bench.train.peers.launchers import Launcher
from bench.train.peers.team import Team

SAVE_EVERY: Final = 20
LIMIT_SECONDS: Final = 300.0
"""Against hanging: a newcomer imports first, for as long as the machine takes; who loses the job
ends after a minute."""
LEAVE_SECONDS: Final = 120.0
"""Against hanging: until an agent on notice has ended."""
SMALL, LARGE = 2, 3
CYCLES: Final[Mapping[Launcher, int]] = {
    launchers.SESSION: 4,
    launchers.UNMODIFIED: 1,
    launchers.LEAVING: 1,
    launchers.TUNED: 1,
}
"""Of growth and notice, in each round."""
NAMES: Final = [launcher.name for launcher in (*CYCLES, launchers.STOCK)]


def grow(team: Team, number: int) -> Trial:
    _train(team, SMALL, f"growth {number}")
    at = team.start(f"new{number}")
    return _await(team, at, LARGE, "growth", number)


def notify(team: Team, number: int) -> Trial:
    _train(team, LARGE, f"notice {number}")
    worker = team.worker_of_rank(number % LARGE)
    at = team.notice(worker)
    trial = _await(team, at, SMALL, "notice", number)
    team.agents[worker].wait(timeout=LEAVE_SECONDS)
    return trial


def _train(team: Team, size: int, seed: str) -> None:
    """Until a checkpoint is behind; how far, differs from trial to trial, not by launcher."""
    steps = SAVE_EVERY + random.Random(seed).randrange(SAVE_EVERY)
    team.until_training(size=size, steps=steps)


def _await(team: Team, at: float, size: int, case: str, number: int) -> Trial:
    limit = LIMIT_SECONDS
    return await_change(team, at, size=size, limit=limit, case=case, number=number)


def cycles(launcher: Launcher, numbers: Sequence[int]) -> list[Trial]:
    """Growth and notice in turn, in one job; a job that is lost ends them."""
    found: list[Trial] = []
    with fresh_team(launcher, max_size=LARGE, size=SMALL) as team:
        for number in numbers:
            for change in (grow, notify):
                found.append(change(team, number))
                tell(found[-1])
                if found[-1].never:
                    return found
    return found


def alone(change: Callable[[Team, int], Trial], size: int, number: int) -> list[Trial]:
    """One change on a job of its own."""
    with fresh_team(launchers.STOCK, max_size=LARGE, size=size) as team:
        return [change(team, number)]


def measure(rounds: int, names: Sequence[str]) -> list[Trial]:
    found: list[Trial] = []
    for number in range(rounds):
        for launcher, count in CYCLES.items():
            if launcher.name in names:
                numbers = range(number * count, (number + 1) * count)
                what = f"{launcher.name}, round {number}"
                found += try_all(partial(cycles, launcher, numbers), what=what)
        if launchers.STOCK.name in names:
            waiting = [partial(alone, grow, SMALL, number), partial(alone, notify, LARGE, number)]
            what = f"{launchers.STOCK.name}, round {number}"
            found += tell_all(side_by_side([partial(try_all, w, what=what) for w in waiting]))
    return found


def keep(found: dict[str, Any], trials: Sequence[Trial], case: str, *, dry_run: bool) -> None:
    of_case = [trial.to_document() for trial in trials if trial.case == case]
    whole = found | {"trials": of_case, "load_after": os.getloadavg()}
    kept.keep(case, whole, dry_run=dry_run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launchers", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    options = parser.parse_args()
    found = begun()
    trials = measure(options.rounds, options.launchers)
    for case in ("notice", "growth"):
        keep(found, trials, case, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
