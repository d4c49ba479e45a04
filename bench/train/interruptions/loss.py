"""Unplanned loss: from SIGKILL to the first step of the next world, ours beside torchrun.

    python -m bench.train.interruptions.loss [--rounds 5] [--launchers NAME ...] [--dry-run]

Every trial has a job of its own. In each round all launchers take their turn at all cases, one
trial after the other; torchrun's defaults, which only wait, go last and all cases at once.
"""

import argparse
import os
import random
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench import kept
from bench.machine import begun
from bench.train.interruptions.trials import (
    Trial,
    await_change,
    fresh_team,
    side_by_side,
    tell_all,
    try_all,
)
from bench.train.peers import launchers
from bench.train.peers.launchers import Launcher
from bench.train.peers.team import Team

SAVE_EVERY: Final = 20
"""Steps; the scripts' own default."""
LIMIT_SECONDS: Final = 100.0
"""Training that has not gone on by then counts as lost."""
LAUNCHERS: Final = (launchers.SESSION, launchers.UNMODIFIED, launchers.TUNED, launchers.STOCK)


@dataclass(frozen=True)
class Case:
    name: str
    size: int
    victims: tuple[int, ...]
    """Ranks whose agent and process are killed, all at once."""


CASES: Final = (
    Case("one of 2", 2, (1,)),
    Case("one of 3", 3, (2,)),
    Case("rank 0 of 3", 3, (0,)),
    Case("two of 4 at once", 4, (2, 3)),
)


def trial_of(launcher: Launcher, case: Case, number: int) -> list[Trial]:
    what = f"{case.name}, {launcher.name}, round {number}"
    return try_all(partial(_trial_of, launcher, case, number), what=what)


def _trial_of(launcher: Launcher, case: Case, number: int) -> list[Trial]:
    with fresh_team(launcher, max_size=case.size, size=case.size) as team:
        # A checkpoint is behind them; how far, differs from round to round and not by launcher.
        steps = SAVE_EVERY + random.Random(f"{case.name} {number}").randrange(SAVE_EVERY)
        team.until_training(size=case.size, steps=steps)
        at = kill(team, case)
        return [
            await_change(
                team,
                at,
                size=case.size - len(case.victims),
                limit=LIMIT_SECONDS,
                case=case.name,
                number=number,
            )
        ]


def kill(team: Team, case: Case) -> float:
    return team.kill(*[team.worker_of_rank(rank) for rank in case.victims])


def measure(rounds: int, cases: list[Case], chosen: list[Launcher]) -> list[Trial]:
    found: list[Trial] = []
    for number in range(rounds):
        for case in cases:
            for launcher in chosen:
                if launcher is not launchers.STOCK:
                    found += tell_all(trial_of(launcher, case, number))
        if launchers.STOCK in chosen:
            waiting = [partial(trial_of, launchers.STOCK, case, number) for case in cases]
            found += tell_all(side_by_side(waiting))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    names = [launcher.name for launcher in LAUNCHERS]
    parser.add_argument("--cases", nargs="+", default=[case.name for case in CASES])
    parser.add_argument("--launchers", nargs="+", default=names, choices=names)
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    options = parser.parse_args()
    found = begun()
    cases = [case for case in CASES if case.name in options.cases]
    trials = measure(options.rounds, cases, [launchers.ALL[name] for name in options.launchers])
    found["trials"] = [trial.to_document() for trial in trials]
    found["load_after"] = os.getloadavg()
    kept.keep("loss", found, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
