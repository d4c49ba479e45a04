"""A coordinator of one job as a process of its own, as in a cluster; prints its port.

The newest world's number outlives it in a file, as the job's status keeps it in a cluster, and who
was started last leads: a file that names it stands for the Lease.
"""

import asyncio
import os
import sys
from pathlib import Path

from bench.train.peers.launchers import JOB, TOKEN
from spotrain import worlds
from spotrain.agent.standalone import expect_token
from spotrain.coordinator.server import Coordinator


async def serve(port: int, max_size: int, path: Path) -> None:
    leader, me = path.with_name("leader"), str(os.getpid())
    leader.write_text(me)

    async def record(_job: str, number: int) -> None:
        if path.exists() and int(path.read_text()) >= number:
            raise RuntimeError(f"world {path.read_text()} is recorded: another one leads")
        partial = path.with_suffix(".partial")
        partial.write_text(str(number))
        os.replace(partial, path)

    # Newcomers are taken in at once: how long to gather them is the user's setting, not a cost.
    limits = worlds.Limits(
        min_size=1, max_size=max_size, desired_size=max_size, growth_delay_seconds=0.2
    )
    coordinator = Coordinator(
        record=record,
        authorize=expect_token(TOKEN),
        leads=lambda: leader.read_text() == me,
    )
    number = int(path.read_text()) if path.exists() else 0
    coordinator.set_job(JOB, limits, number=number)
    async with coordinator.serving("127.0.0.1", port) as chosen:
        print(chosen, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
