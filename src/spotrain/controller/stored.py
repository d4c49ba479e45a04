"""The status as the API server keeps it: how it is read, and what a write of it may change.

Two write it: the reconciler, and the recorder of world numbers, which must run ahead of what can
be seen. A number that is recorded but not published yet has the step UNPUBLISHED beside it.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from spotrain.controller.status import JobStatus, WorldStatus

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]
UNPUBLISHED: Final = -1
"""The step of a world that was recorded and not seen yet; the rest is the last world's."""


def read_status(document: Document | None) -> JobStatus:
    """The status for the reconciler; what nobody can read is as if it were absent."""
    kept = dict(document or {})
    while True:
        try:
            return _as_published(JobStatus.from_document(kept))
        except ValidationError as error:
            spoilt = {str(fault["loc"][0]) for fault in error.errors()} & kept.keys()
            if not spoilt:
                raise
            logger.warning("the stored status has unreadable fields: %s", ", ".join(sorted(spoilt)))
            kept = {key: value for key, value in kept.items() if key not in spoilt}


def _as_published(status: JobStatus) -> JobStatus:
    """The recorded world must look new to the reconciler when it is published after all."""
    world = status.world
    if world is None or world.step != UNPUBLISHED:
        return status
    if world.size == 0:
        return replace(status, world=None)
    return replace(status, world=replace(world, number=world.number - 1, step=0))


def recorded_number(document: Document | None) -> int:
    """The last durable world number; 0: the job never had a world."""
    world = (document or {}).get("world")
    number = world.get("number") if isinstance(world, Mapping) else None
    return number if isinstance(number, int) else 0


def number_patch(document: Document | None, number: int, now: datetime) -> dict[str, Any]:
    """The change of a status that makes a world's number durable, and nothing else."""
    world = read_status(document).world or WorldStatus(number, 0, now, UNPUBLISHED)
    since = world.since.isoformat().replace("+00:00", "Z")
    return {"world": {"number": number, "size": world.size, "since": since, "step": UNPUBLISHED}}


def status_patch(document: Document | None, status: JobStatus) -> dict[str, Any]:
    """The change that makes the stored status this one; empty: it is. No number is ever lowered."""
    wanted = status.to_document()
    number = status.world.number if status.world else 0
    if number < recorded_number(document):
        wanted["world"] = (document or {}).get("world")
    return merge_patch(document or {}, wanted)


def merge_patch(before: Document, after: Document) -> dict[str, Any]:
    """RFC 7386: null removes a key, mappings are changed key by key, the rest is replaced."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if changes := merge_patch(old, value):
                patch[key] = changes
        elif key not in before or old != value:
            patch[key] = value
    return patch
