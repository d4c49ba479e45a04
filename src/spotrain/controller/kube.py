"""The API server: the few requests that the controller makes, and their errors.

The objects pass as the JSON they are: lightkube's typed models drop every field that is newer than
they are, and a pod template belongs to the user. How its server is found is in `connection`.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx2

from spotrain import contract
from spotrain.kinds import Kind, Object

FIELD_MANAGER: Final = contract.CONTROLLER_NAME
PAGE: Final = 500
WATCH_SECONDS: Final = 60
"""Watches are renewed so often; one that is silent for longer has lost its connection."""
REQUEST_SECONDS: Final = 10.0
LOST: Final = (httpx2.RequestError, OSError, json.JSONDecodeError)
"""The server was not reached, or its answer was not: whether it has acted is unknown."""


class KubeError(Exception):
    """The API server's refusal of a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the API server answers {status}: {message}")
        self.status = status
        self.message = message


class NotFound(KubeError):
    pass


class Conflict(KubeError):
    """It exists already, or it is no longer what the request took it for."""


class Gone(KubeError):
    """A watch cannot go on from there: list anew."""


_ERRORS: Final[Mapping[int, type[KubeError]]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
}


class NotLeading(Exception):
    """A write that was kept back: another controller may be leading by now."""


FAULTS: Final = (KubeError, NotLeading, *LOST)
Asked = Callable[[str, int | None], None]
"""Is told of every request: its method, and the status of the answer; None: there was none."""


class Kube:
    """Usage: `async with connection.connected() as kube`. Every method raises one of FAULTS."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        asked: Asked = lambda _method, _code: None,
        *,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._http = http
        self._asked = asked
        self._may_write = may_write

    def guarded(self, may_write: Callable[[], bool]) -> "Kube":
        """The same server, asked to change something only while `may_write`; else NotLeading."""
        return Kube(self._http, self._asked, may_write=may_write)

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._ask("GET", kind.path(namespace, name))

    async def serves(self, kind: Kind) -> bool:
        """Does the API server know this kind?"""
        try:
            known = await self._ask("GET", kind.root)
        except NotFound:
            return False
        return any(resource["name"] == kind.plural for resource in known["resources"])

    async def list_all(
        self, kind: Kind, namespace: str = "", *, selector: Mapping[str, str] | None = None
    ) -> tuple[list[Object], str]:
        """Every object of the kind, and the version from which to watch."""
        items: list[Object] = []
        page = {"limit": str(PAGE), **(selector or {})}
        while True:
            answer = await self._ask("GET", kind.path(namespace), page)
            items += answer.get("items") or []
            metadata = answer["metadata"]
            if not metadata.get("continue"):
                return items, metadata["resourceVersion"]
            page["continue"] = metadata["continue"]

    async def watch(
        self, kind: Kind, namespace: str, version: str, *, selector: Mapping[str, str]
    ) -> AsyncGenerator[tuple[str, Object], None]:
        """(ADDED, MODIFIED, DELETED or BOOKMARK, object) after `version`; ends after a minute."""
        parameters = {
            **selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        patience = httpx2.Timeout(REQUEST_SECONDS, read=WATCH_SECONDS + REQUEST_SECONDS)
        stream = self._http.stream("GET", kind.path(namespace), params=parameters, timeout=patience)
        async with stream as response:
            self._asked("WATCH", response.status_code)
            if response.is_error:
                await response.aread()
                _raise_for(response)
            async for line in response.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise _error(event["object"].get("code", 0), event["object"].get("message", ""))
                yield event["type"], event["object"]

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, Any]) -> Object:
        return await self._ask("POST", kind.path(namespace), _MANAGED, body=body)

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> Object:
        """A merge patch; `metadata.resourceVersion` and `metadata.uid` in it are preconditions.

        A strategic one, which Kubernetes' own kinds know, merges conditions by their type.
        """
        path = kind.path(namespace, name, subresource)
        as_type = _STRATEGIC if strategic else _MERGE
        return await self._ask("PATCH", path, _MANAGED, body=body, as_type=as_type)

    async def apply(self, kind: Kind, namespace: str, body: Mapping[str, Any]) -> Object:
        """Server-side apply: made if it is not there, and ours again where it was changed."""
        path = kind.path(namespace, body["metadata"]["name"])
        parameters = {**_MANAGED, "force": "true"}
        return await self._ask("PATCH", path, parameters, body=body, as_type=_APPLY)

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        uid: str,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """Delete this very object: a namesake of another uid answers Conflict."""
        options: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": propagation,
        }
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        await self._ask("DELETE", kind.path(namespace, name), body=options)

    async def _ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        as_type: str = "application/json",
    ) -> Object:
        content = None if body is None else json.dumps(body)
        if method != "GET" and not self._may_write():
            raise NotLeading(f"{method} {path} is left to the leading controller")
        try:
            response = await self._http.request(
                method, path, params=parameters, content=content, headers={"Content-Type": as_type}
            )
        except LOST:
            self._asked(method, None)
            raise
        self._asked(method, response.status_code)
        if response.is_error:
            _raise_for(response)
        answer: Object = response.json()
        return answer


_MANAGED: Final = {"fieldManager": FIELD_MANAGER}
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


def _raise_for(response: httpx2.Response) -> None:
    try:
        message = response.json()["message"]
    except (ValueError, KeyError, TypeError):
        message = response.text[:200]
    raise _error(response.status_code, message)


def _error(status: int, message: str) -> KubeError:
    return _ERRORS.get(status, KubeError)(status, message)
