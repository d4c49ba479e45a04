"""Any object of any kind at a real API server, as Pulumi's provider sends it."""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from stacks.recorder import MASK, Registration
from tests.cluster.server import ADMIN_TOKEN, ApiServer

Object = dict[str, Any]
FIELD_MANAGER = "pulumi-kubernetes-1234abcd"
AUTONAME_SUFFIX = "-1a2b3c4d"
FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that others need before they are accepted."""
WAIT_SECONDS = 15.0


def body_of(registration: Registration) -> Object:
    """What the provider makes of inputs: a name where there is none, and no secret's content."""
    body: Object = json.loads(json.dumps(registration.inputs))
    metadata = body.setdefault("metadata", {})
    metadata.setdefault("name", f"{registration.name}{AUTONAME_SUFFIX}")
    if body["kind"] == "Secret":
        for key in ("data", "stringData"):
            if MASK in json.dumps(body.get(key)):
                body[key] = {}
    return body


def in_order(bodies: list[Object]) -> list[Object]:
    """As they can be made; the reverse is the order in which they can go."""
    ranks = {kind: rank for rank, kind in enumerate(FIRST)}
    return sorted(bodies, key=lambda body: ranks.get(body["kind"], len(FIRST)))


class Objects:
    """Applies, reads and deletes. A refusal is an answer here, not an exception."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def apply(self, body: Object, *, manager: str = FIELD_MANAGER) -> str:
        """Nothing, or why the server refuses it. Strict: an unknown field is refused, too."""
        path = self.path(body)
        if path is None:
            return f"no kind {body['kind']} in {body['apiVersion']}"
        answer = self._http.patch(
            path,
            params={"fieldManager": manager, "force": "true", "fieldValidation": "Strict"},
            content=json.dumps(body),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )
        if answer.is_error:
            return str(answer.json()["message"])
        if body["kind"] == "CustomResourceDefinition":
            self._await_established(path)
        return ""

    def delete(self, body: Object) -> str:
        """Nothing, or why the server refuses to."""
        options = {"propagationPolicy": "Background"}
        answer = self._http.request(
            "DELETE",
            str(self.path(body)),
            content=json.dumps(options),
            headers={"Content-Type": "application/json"},
        )
        return str(answer.json()["message"]) if answer.is_error else ""

    def read(self, body: Object) -> Object:
        """As the server has it."""
        found: Object = self._http.get(str(self.path(body))).raise_for_status().json()
        return found

    def finalizers(self, body: Object) -> list[str]:
        """Who must let go of a deleted object before it is gone; nobody, where it is."""
        path = self.path(body)
        answer = self._http.get(path) if path else None
        if answer is None or answer.status_code == httpx2.codes.NOT_FOUND:
            return []
        found = answer.json()
        names = found["metadata"].get("finalizers") or (found.get("spec") or {}).get("finalizers")
        return list(names or ["nobody, and yet it is there"])

    def path(self, body: Mapping[str, Any]) -> str | None:
        """Where the server keeps the object; None where it does not know the kind."""
        version, kind = body["apiVersion"], body["kind"]
        if (version, kind) not in self._kinds:
            self._kinds.update(self._discover(version))
        if (version, kind) not in self._kinds:
            return None
        plural, namespaced = self._kinds[version, kind]
        place = f"/namespaces/{body['metadata'].get('namespace', 'default')}" if namespaced else ""
        return f"{_root(version)}{place}/{plural}/{body['metadata']['name']}"

    def _discover(self, version: str) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
        answer = self._http.get(_root(version))
        for kind in answer.json().get("resources", []) if answer.is_success else []:
            if "/" not in kind["name"]:
                yield (version, kind["kind"]), (kind["name"], kind["namespaced"])

    def _await_established(self, path: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            found = self._http.get(path).json()
            conditions = (found.get("status") or {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return
            time.sleep(0.1)
        raise TimeoutError(f"{path} was not established within {WAIT_SECONDS:.0f} s")


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


@contextmanager
def objects_at(server: ApiServer) -> Iterator[Objects]:
    """With every right."""
    tls = ssl.create_default_context(cafile=server.authority)
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    with httpx2.Client(base_url=server.url, headers=headers, verify=tls) as http:
        yield Objects(http)
