"""`make bench-coordinator`: a thousand agents in a hundred jobs, and one coordinator."""

import argparse
import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import kept
from bench.machine import cpu_seconds, machine

CROWDS = 4
"""Processes that the agents share."""
TRAIN_SECONDS = 15
Row = dict[str, float]


@asynccontextmanager
async def running(module: str, *arguments: int) -> AsyncIterator[Process]:
    command = [sys.executable, "-m", f"bench.coordinator.{module}", *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    if not line:
        raise RuntimeError("a process of the benchmark has ended early")
    return line


async def tell(crowds: list[Process], word: str) -> float:
    """Seconds from the first crowd's beginning to the last one's end."""
    for crowd in crowds:
        assert crowd.stdin is not None
        crowd.stdin.write(f"{word}\n".encode())
    told = [json.loads(await line_of(crowd)) for crowd in crowds]
    return float(max(one["done"] for one in told) - min(one["begun"] for one in told))


def mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


async def one_round(jobs: int, size: int) -> Row:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running("serve", jobs, size))
        port, share = int(await line_of(server)), jobs // CROWDS
        crowds = [
            await stack.enter_async_context(running("agents", port, i * share, share, size))
            for i in range(CROWDS)
        ]
        empty, begun = mib(server.pid), cpu_seconds(server.pid)
        row: Row = {"form_s": await tell(crowds, "form")}
        row["form_cpu_s"] = cpu_seconds(server.pid) - begun
        begun = cpu_seconds(server.pid)
        seconds = await tell(crowds, f"train {TRAIN_SECONDS}")
        row["train_cpu"] = (cpu_seconds(server.pid) - begun) / seconds
        row["mib"] = mib(server.pid)
        row["agents_mib"] = row["mib"] - empty
        row["loss_s"] = await tell(crowds, "lose")
    print(json.dumps(row), flush=True)
    return row


async def measure(jobs: int, size: int, rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
    found |= {"machine": machine(), "jobs": jobs, "agents_per_job": size}
    found["rounds"] = [await one_round(jobs, size) for _ in range(rounds)]
    return found | {"load_after": os.getloadavg()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100, help=f"a multiple of {CROWDS}")
    parser.add_argument("--agents", type=int, default=10, help="of each job")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    chosen = parser.parse_args()
    found = asyncio.run(measure(chosen.jobs, chosen.agents, chosen.rounds))
    kept.keep("coordinator", found, dry_run=chosen.dry_run)


if __name__ == "__main__":
    main()
