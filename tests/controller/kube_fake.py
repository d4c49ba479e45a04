"""A scripted API server: each request takes the next answer, and is remembered."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from spotrain.kinds import Kind


@dataclass
class ScriptedKube:
    """`answers`: for each verb, what its requests get in turn; an exception is raised."""

    answers: dict[str, list[Any]]
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def _next(self, verb: str, *request: Any) -> Any:
        self.asked.append((verb, *request))
        if not self.answers.get(verb):
            raise Unscripted(f"{verb} {request}")
        answer = self.answers[verb].pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def get(self, kind: Kind, namespace: str, name: str) -> Any:
        return self._next("get", kind.plural, namespace, name)

    async def list_all(self, kind: Kind, namespace: str = "", *, selector: Any = None) -> Any:
        return self._next("list", kind.plural)

    async def watch(
        self, kind: Kind, namespace: str, version: str, *, selector: Any
    ) -> AsyncIterator[Any]:
        for event in self._next("watch", version):
            if isinstance(event, BaseException):
                raise event
            yield event

    async def create(self, kind: Kind, namespace: str, body: Mapping[str, Any]) -> Any:
        return self._next("create", kind.plural, body)

    async def patch(
        self, kind: Kind, namespace: str, name: str, body: Any, *, subresource: str = ""
    ) -> Any:
        return self._next("patch", f"{kind.plural}/{subresource}", body)

    async def apply(self, kind: Kind, namespace: str, body: Mapping[str, Any]) -> Any:
        return self._next("apply", kind.plural, body["metadata"]["name"])

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, grace_seconds: int | None = None
    ) -> Any:
        return self._next("delete", kind.plural, name, uid, grace_seconds)

    def of(self, verb: str) -> list[Any]:
        return [request[1:] for request in self.asked if request[0] == verb]


class Enough(BaseException):
    """Ends a loop that never ends by itself."""


class Unscripted(BaseException):
    """A request that the test did not foresee; no loop outlives it."""
