"""The coordinator in a process of its own: python -m bench.coordinator.serve JOBS AGENTS_PER_JOB"""

import asyncio
import sys

from spotrain import worlds
from spotrain.agent.standalone import expect_token, forget_number
from spotrain.coordinator.server import Coordinator


async def serve(jobs: int, size: int) -> None:
    """Until the process is ended; prints its port."""
    coordinator = Coordinator(record=forget_number, authorize=expect_token("bench"))
    # A minute is time enough for all to connect: a world of fewer would be another measurement.
    limits = worlds.Limits(min_size=size - 1, max_size=size, desired_size=size, gather_seconds=60.0)
    for number in range(jobs):
        coordinator.set_job(f"bench/job-{number}/uid", limits)
    async with coordinator.serving("127.0.0.1", 0) as port:
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
