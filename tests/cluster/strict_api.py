"""ElasticJobs at the API server as `kubectl` sends them: strictly, and with what it answers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from spotrain.kinds import JOBS, Object
from tests.cluster.cluster import Namespace

MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Answer:
    """What the API server made of a request."""

    accepted: bool
    message: str
    warnings: list[str]
    object: Object


@dataclass(frozen=True)
class StrictApi:
    """Jobs of one namespace, under field validation Strict: an unknown field is refused."""

    http: httpx2.AsyncClient
    namespace: str

    async def create(self, job: Object, *, dry_run: bool = False) -> Answer:
        here = {**job, "metadata": {**job["metadata"], "namespace": self.namespace}}
        parameters = {"dryRun": "All"} if dry_run else {}
        return await self._send("POST", JOBS.path(self.namespace), here, parameters=parameters)

    async def change(self, name: str, spec: Object, *, metadata: Object | None = None) -> Answer:
        body = {"metadata": metadata or {}, "spec": spec}
        return await self._send("PATCH", JOBS.path(self.namespace, name), body, as_type=MERGE)

    async def set_status(self, name: str, status: Object) -> Answer:
        path = JOBS.path(self.namespace, name, "status")
        return await self._send("PATCH", path, {"status": status}, as_type=MERGE)

    async def scale(self, name: str, replicas: int) -> Answer:
        """As `kubectl scale` and autoscalers do."""
        path = JOBS.path(self.namespace, name, "scale")
        body = {"spec": {"replicas": replicas}}
        return await self._send("PATCH", path, body, as_type=MERGE)

    async def _send(
        self,
        method: str,
        path: str,
        body: Object,
        *,
        as_type: str = "application/json",
        parameters: dict[str, str] | None = None,
    ) -> Answer:
        answer = await self.http.request(
            method,
            path,
            params={"fieldValidation": "Strict", **(parameters or {})},
            content=json.dumps(body),
            headers={"Content-Type": as_type},
        )
        found: Any = answer.json()
        return Answer(
            accepted=answer.is_success,
            message="" if answer.is_success else str(found["message"]),
            warnings=answer.headers.get_list("warning"),
            object=found,
        )


@asynccontextmanager
async def strict_api(namespace: Namespace) -> AsyncIterator[StrictApi]:
    async with namespace.server.client() as http:
        yield StrictApi(http, namespace.name)
