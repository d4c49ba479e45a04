"""A copy of the cluster's objects of one kind, kept up to date by listing and watching."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from spotrain.controller.kube import FAULTS, Gone, Kube
from spotrain.kinds import Kind, Object

logger = logging.getLogger(__name__)

T = TypeVar("T")
Name = tuple[str, str]
"""(namespace, name)"""
LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass(kw_only=True)
class Mirror(Generic[T]):
    """What `parse` makes of each object, by name; None leaves an object out.

    `changed(name, old, new)` is called at every difference, after it can be seen in `items`.
    """

    kind: Kind
    parse: Callable[[Object], T | None]
    changed: Callable[[Name, T | None, T | None], None]
    namespace: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    items: dict[Name, T] = field(default_factory=dict)
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    _versions: dict[Name, str] = field(default_factory=dict)
    """Of what `items` was made of."""
    _told: int = 0
    """Version up to which the API server has told everything."""

    async def follow(self, kube: Kube) -> None:
        """Never returns. A broken watch goes on where it was; one that is too old lists anew."""
        version, pauses = "", backoff()
        while True:
            try:
                version = version or await self._list(kube)
                events = kube.watch(self.kind, self.namespace, version, selector=self.selector)
                # Left half-way, a watch must give its connection back at once.
                async with aclosing(events) as stream:
                    async for event, item in stream:
                        version = item["metadata"]["resourceVersion"]
                        if event != "BOOKMARK" and not self._is_echo(event, item):
                            self.take(item, deleted=event == "DELETED")
                        self._told = _number(version)
                pauses = backoff()
            except Gone:
                version = ""
            except FAULTS as fault:
                pause = next(pauses)
                logger.warning("%s: %r; again in %.1f s", self.kind.plural, fault, pause)
                await asyncio.sleep(pause)

    async def _list(self, kube: Kube) -> str:
        found, version = await kube.list_all(self.kind, self.namespace, selector=self.selector)
        listed = {_name(item) for item in found}
        for name in [name for name in self.items if name not in listed]:
            self.put(name, None)
        for item in found:
            self.take(item)
        self._told = _number(version)
        self.synced.set()
        return version

    def take(self, item: Object, *, deleted: bool = False) -> None:
        """Enter what the API server has sent. What nobody can read stays as it was."""
        name = _name(item)
        self._versions[name] = item["metadata"].get("resourceVersion", "")
        try:
            self.put(name, None if deleted else self.parse(item))
        except Exception:
            logger.exception("cannot take in %s %s", self.kind.plural, "/".join(_name(item)))

    def _is_echo(self, event: str, item: Object) -> bool:
        """Of one's own write, whose answer was entered: to read it again would be half the work."""
        version = item["metadata"]["resourceVersion"]
        return event != "DELETED" and self._versions.get(_name(item)) == version

    def foresee(self, item: Object) -> None:
        """Enter what was just written, ahead of the watch, lest it be written again. What the watch
        has come past already is not touched: it may be changed or gone by now."""
        if _number(item["metadata"].get("resourceVersion", "")) > self._told:
            self.take(item)

    def put(self, name: Name, new: T | None) -> None:
        """What is there under that name from now on; None: nothing."""
        old = self.items.pop(name, None)
        if new is not None:
            self.items[name] = new
        else:
            self._versions.pop(name, None)
        if old != new:
            self.changed(name, old, new)


def _number(version: str) -> int:
    """Versions of one kind rise with time, by promise of Kubernetes 1.35; 0: not a number."""
    return int(version) if version.isdecimal() else 0


def _name(item: Object) -> Name:
    metadata = item["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def backoff(first: float = 0.1) -> Iterator[float]:
    """Pauses in seconds that double, each a little different so that many do not keep step."""
    pause = first
    while True:
        yield min(pause, LONGEST_PAUSE_SECONDS) * random.uniform(0.75, 1.25)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
