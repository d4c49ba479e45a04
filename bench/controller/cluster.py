"""The API server and the controller process that are measured: those of the cluster tests."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotrain import contract, kinds
from spotrain.controller.kube import Kube
from spotrain.kinds import Object
from tests.cluster.cluster import ControllerProcess, Namespace, install, request_token
from tests.cluster.server import ISSUER, ApiServer

CONCURRENCY = 32
WORKERS = 4
"""Of each job."""


@dataclass(frozen=True)
class Bench:
    """Whatever is measured speaks with the controller's rights, and so is audited alike."""

    server: ApiServer
    token: str
    admin: Kube

    async def namespace(self, name: str) -> Namespace:
        made = Namespace(self.server, self.admin, name)
        await made.create()
        return made

    @asynccontextmanager
    async def controller(self, namespace: Namespace) -> AsyncIterator[ControllerProcess]:
        kubeconfig = self.server.kubeconfig(namespace.name, self.token)
        process = ControllerProcess(kubeconfig, namespace.name, self.admin)
        process.environment = {"SPOTRAIN_LOG_LEVEL": "INFO"}
        try:
            yield process
        finally:
            await process.kill()

    async def create(self, client: str, namespace: str, bodies: list[Object]) -> float:
        """Seconds that a bare client takes to create them."""
        order = {
            "client": client,
            "kubeconfig": str(self.server.kubeconfig("bare", self.token)),
            "authority": str(self.server.authority),
            "url": self.server.url,
            "token": self.token,
            "namespace": namespace,
            "bodies": bodies,
            "concurrency": CONCURRENCY,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench.controller.clients",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        said, _ = await process.communicate(json.dumps(order).encode())
        if process.returncode:
            raise RuntimeError(f"the bare client {client} ended with {process.returncode}")
        return float(said)

    def audited(self, start: int) -> Iterable[Object]:
        """What the API server wrote down of requests with the controller's rights since then."""
        with self.server.audit_log.open("rb") as log:
            log.seek(start)
            return [json.loads(line) for line in log if line.endswith(b"\n")]

    def audit_position(self) -> int:
        return self.server.audit_log.stat().st_size

    async def clear(self, namespace: Namespace) -> None:
        """Nobody collects garbage here: pods and jobs go at once."""
        for kind in (kinds.JOBS, kinds.PODS):
            path = kind.path(namespace.name)
            async with self.server.client() as http:
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
                answer = await http.request("DELETE", path, json=options, timeout=120.0)
                answer.raise_for_status()


@asynccontextmanager
async def bench_on(server: ApiServer) -> AsyncIterator[Bench]:
    async with server.client() as http:
        admin = server.kube(http)
        await install(admin)
        account = contract.CONTROLLER_NAME
        token = await request_token(admin, contract.SYSTEM_NAMESPACE, account, audience=ISSUER)
        yield Bench(server, token, admin)


def as_created(stored: Object, name: str, namespace: str) -> Object:
    """The body that makes such an object again, under another name."""
    kept: dict[str, Any] = {
        key: value
        for key, value in stored["metadata"].items()
        if key in ("labels", "annotations", "ownerReferences")
    }
    return {
        "apiVersion": stored.get("apiVersion", "v1"),
        "kind": stored["kind"],
        "metadata": {**kept, "name": name, "namespace": namespace},
        "spec": stored["spec"],
    }


def folder_of_tools() -> Path:
    given = os.environ.get("KUBEBUILDER_ASSETS", "")
    if not (Path(given) / "kube-apiserver").is_file():
        raise SystemExit(
            "the benchmark needs etcd and kube-apiserver; run it by make bench-controller"
        )
    return Path(given)
