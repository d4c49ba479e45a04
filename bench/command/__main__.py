"""`make bench-command`: what a person types, timed in turns beside kubectl."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import yaml

from bench import kept
from bench.command import report
from bench.command.clock import ask, run
from bench.command.jobs import WORLDS, jobs
from bench.command.lines import ANSWERS, Line, lines
from bench.controller.cluster import folder_of_tools
from bench.machine import machine
from spotrain import kinds
from spotrain.kinds import Object
from tests.cluster.cluster import Namespace, install
from tests.cluster.researchers import offer_pools
from tests.cluster.server import ADMIN_TOKEN, ApiServer, etcd_for_api_server

NAMESPACE = "team"
WRITERS = 4
"""At once, while the jobs are made."""
PAGE_OF_JOBS = "?limit=500"
"""As both command lines ask."""


@asynccontextmanager
async def cluster_with(count: int, folder: Path) -> AsyncIterator[ApiServer]:
    """An API server that keeps so many jobs in the namespace."""
    with etcd_for_api_server(folder_of_tools(), folder) as server, server.running():
        async with server.client() as http:
            kube = server.kube(http)
            await install(kube)
            namespace = Namespace(server, kube, NAMESPACE)
            await namespace.create()
            await offer_pools(kube)
            await _submit(http, count)
        yield server


async def _submit(http: httpx2.AsyncClient, count: int) -> None:
    """However long that takes: it is not what is measured."""
    left, place = jobs(count, NAMESPACE), kinds.JOBS.path(NAMESPACE)
    as_patch = {"Content-Type": "application/merge-patch+json"}

    async def work() -> None:
        for document, status in left:
            made = await http.post(place, json=document, timeout=None)
            made.raise_for_status()
            told = await http.patch(
                f"{place}/{document['metadata']['name']}/status",
                content=json.dumps({"status": status}),
                headers=as_patch,
                timeout=None,
            )
            told.raise_for_status()

    async with asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(work())


def environment_on(server: ApiServer, folder: Path) -> dict[str, str]:
    """Of a person who has a kubeconfig; kubectl keeps what it has found out in its home."""
    scripts = Path(sys.executable).parent
    return {
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "HOME": str(folder),
        "USER": "ada",
        "KUBECONFIG": str(server.kubeconfig(NAMESPACE, ADMIN_TOKEN)),
        "SPOTRAIN_NAMESPACE": NAMESPACE,
    }


def one_round(
    typed: dict[str, Line], server: ApiServer, environment: dict[str, str]
) -> dict[str, Any]:
    """Each line once, ours and kubectl's in turns, and what the API server takes by itself."""
    row: dict[str, Any] = {"python": run(("python", "-c", "pass"), environment)}
    for key, line in typed.items():
        row[key] = {"ours": run(line.ours, {**environment, **line.environment})}
        if line.theirs:
            row[key]["theirs"] = run(line.theirs, environment)
        if line.answer:
            row[key]["server"] = asked(server, line.answer)
    return row


def asked(server: ApiServer, answer: str) -> dict[str, float]:
    return ask(server, kinds.JOBS.path(NAMESPACE) + PAGE_OF_JOBS, ANSWERS[answer])


async def measure(count: int, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with cluster_with(count, folder) as server:
            environment = environment_on(server, folder)
            manifest = folder / "exp1.yaml"
            manifest.write_text(yaml.safe_dump(a_job()))
            typed = lines(NAMESPACE, str(manifest))
            one_round(typed, server, environment)  # not kept: kubectl finds out what is served
            found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds")}
            found |= {"machine": machine(), "jobs": count, "worlds": WORLDS}
            found["answers"] = {answer: asked(server, answer) for answer in ANSWERS}
            found["rounds"] = []
            for _ in range(rounds):
                found["rounds"].append(one_round(typed, server, environment))
                print(json.dumps(report.seconds_of(found["rounds"][-1])), flush=True)
            return found | {"load_after": os.getloadavg()}


def a_job() -> Object:
    """Another one than those that are there."""
    document, _ = next(jobs(1, NAMESPACE))
    document["metadata"]["name"] = "exp1"
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500, help="in the namespace")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dry-run", action="store_true", help="keep nothing")
    chosen = parser.parse_args()
    found = asyncio.run(measure(chosen.jobs, chosen.rounds))
    kept.keep("command", found, dry_run=chosen.dry_run)


if __name__ == "__main__":
    main()
