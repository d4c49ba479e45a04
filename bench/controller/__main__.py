"""`make bench-controller`: measure, keep the raw data, write docs/performance.md's table."""

import argparse
import asyncio
import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import kept
from bench.controller import latency, progress, throughput, writes
from bench.controller.cluster import CONCURRENCY, WORKERS, bench_on, folder_of_tools
from bench.machine import machine
from tests.cluster.server import etcd_for_api_server

CLIENTS = ("lightkube", "httpx2", "aiohttp")


async def measure(trials: int, sizes: list[int], rounds: int, seconds: float) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        etcd_for_api_server(folder_of_tools(), Path(folder)) as server,
        server.running(),
    ):
        async with bench_on(server) as bench:
            found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
            found["machine"] = machine()
            found["latency_ms"] = await latency.measure(bench, trials)
            found["writes"] = await writes.measure(bench)
            found["progress"] = await progress.measure(bench, seconds)
            kept = await throughput.samples(bench)
            found["throughput"] = {"concurrency": CONCURRENCY, "workers": WORKERS, "rounds": []}
            for number, jobs in enumerate(sizes * rounds):
                found["throughput"]["rounds"].append(await one_round(bench, jobs, number, kept))
            found["load_after"] = os.getloadavg()
            return found


async def one_round(bench: Any, jobs: int, number: int, kept: Any) -> dict[str, Any]:
    """Interleaved, so that whatever else the machine does hits all of them."""
    place = f"round-{number}"
    row: dict[str, Any] = {"jobs": jobs}
    row["controller"] = await throughput.controller_round(bench, place, jobs)
    for client in CLIENTS:
        name = f"{place}-{client}"
        row[client] = await throughput.bare_round(bench, client, name, jobs, kept)
    print(json.dumps({key: round_up(value) for key, value in row.items()}), flush=True)
    return row


def round_up(value: Any) -> Any:
    return round(value["jobs_per_s"], 1) if isinstance(value, dict) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200, help="deletions that are timed")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[100, 500], help="jobs at once, in this order"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of all sizes")
    parser.add_argument("--seconds", type=float, default=60, help="of progress that is told")
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    chosen = parser.parse_args()
    found = asyncio.run(measure(chosen.trials, chosen.sizes, chosen.rounds, chosen.seconds))
    kept.keep("controller", found, dry_run=chosen.dry_run)


if __name__ == "__main__":
    main()
