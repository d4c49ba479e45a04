"""What a job of three workers lives through unaided: ours and torchrun, case by case in turns.

    python -m bench.train.survival [--rounds 1] [--limit 120] [--cases ...] [--peers ...]

About twenty minutes, most of them waiting for torchrun.
"""

import argparse
import os
from typing import Any

from bench import kept
from bench.machine import begun
from bench.train.peers.launchers import ALL
from bench.train.survival.cases import CASES
from bench.train.survival.trial import survive


def measure(cases: list[str], peers: list[str], rounds: int, limit: float) -> dict[str, Any]:
    found = begun()
    survival: dict[str, dict[str, Any]] = {name: {case: [] for case in cases} for name in peers}
    for _ in range(rounds):
        for case in CASES:
            for name in peers:
                if case.name in cases:
                    trial = survive(case, ALL[name], seconds=limit)
                    survival[name][case.name].append(trial)
                    print(case.name, name, trial, flush=True)
    found |= {"rounds": rounds, "limit_seconds": limit, "survival": survival}
    return found | {"load_after": os.getloadavg()}


def main() -> None:
    known = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a case to pass")
    parser.add_argument("--cases", nargs="*", default=known, choices=known)
    parser.add_argument(
        "--peers", nargs="*", default=["session", "tuned", "stock"], choices=list(ALL)
    )
    options = parser.parse_args()
    found = measure(options.cases, options.peers, options.rounds, options.limit)
    kept.keep("survival", found)


if __name__ == "__main__":
    main()
