"""Whether old worlds and former leaders can do harm: frozen at the worst moment, then woken.

    python -m bench.train.fencing [--stalled 50] [--led 20]

Real agents and a coordinator as a process on loopback. Torchrun is no peer here: nothing in it
tells an old world from a new one.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from bench import kept
from bench.machine import begun
from bench.train.fencing import led, stalled

Job = TypeVar("Job")


def trials(
    count: int,
    open_pair: Callable[[Path], AbstractContextManager[Job]],
    trial: Callable[[Job], dict[str, Any]],
) -> list[dict[str, Any]]:
    """One job goes through all trials: every world of it is a chance for an old one."""
    with tempfile.TemporaryDirectory() as folder, open_pair(Path(folder)) as job:
        found = []
        for number in range(1, count + 1):
            found.append(trial(job))
            print(f"{number} of {count}: {found[-1]}", flush=True)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stalled", type=int, default=50, help="trials with a frozen worker")
    parser.add_argument("--led", type=int, default=20, help="trials with a frozen coordinator")
    options = parser.parse_args()
    found = begun()
    found["stalled"] = trials(options.stalled, stalled.pair, stalled.trial)
    found["led"] = trials(options.led, led.pair, led.Led.trial)
    found["load_after"] = os.getloadavg()
    kept.keep("fencing", found)


if __name__ == "__main__":
    main()
