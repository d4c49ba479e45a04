"""What the session adds to a step of 25 ms, with two and three workers.

    python -m bench.train.step_cost [--blocks 40] [--dry-run]

Two runs on a shared machine differ by more than the one per cent that is asked for. So steps with
the session and steps of plain DistributedDataParallel take turns in the same processes, in blocks
of 40, and each block is compared with the one beside it.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from bench import kept
from bench.machine import begun
from bench.train.peers.launchers import SESSION, Launcher
from bench.train.peers.team import team

SIZES: Final = (2, 3)
ROUNDS: Final = 2
"""Jobs of each size, in turns: how threads and sockets fall differs from job to job."""
LIMIT_SECONDS: Final = 1800.0


def blocks_of(size: int, count: int) -> dict[str, Any]:
    launcher = Launcher(
        name="step-cost",
        about=SESSION.about,
        meeting=SESSION.meeting,
        module=SESSION.module,
        script=Path(__file__).with_name("script.py"),
    )
    with (
        tempfile.TemporaryDirectory(prefix="spotrain-bench-") as folder,
        team(launcher, Path(folder) / "team", max_size=size, options=[str(count)]) as workers,
    ):
        workers.start(*[f"w{number}" for number in range(size)])
        for agent in workers.agents.values():
            if agent.wait(timeout=LIMIT_SECONDS) != 0:
                raise RuntimeError(f"a worker failed:\n{workers.last_words()}")
        found: dict[str, Any] = json.loads((workers.output / "blocks.json").read_text())
        return {"size": size, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--blocks", type=int, default=40, help="of each kind, in each job")
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    options = parser.parse_args()
    found = begun()
    found["jobs"] = [blocks_of(size, options.blocks) for _ in range(ROUNDS) for size in SIZES]
    found["load_after"] = os.getloadavg()
    kept.keep("step-cost", found, dry_run=options.dry_run)


if __name__ == "__main__":
    main()
