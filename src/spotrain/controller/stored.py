"""The status as the API server keeps it: how it is read, and what a write of it may change.

Two write it: the reconciler, and the recorder of world numbers, which must run ahead of what can
be seen. The number has a field of its own, so that neither writes over the other.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from spotrain.controller.status import JobStatus

logger = logging.getLogger(__name__)

Document = Mapping[str, Any]
_NUMBER: Final = "recordedWorld"


def read_status(document: Document | None) -> JobStatus:
    """The status for the reconciler; what nobody can read is as if it were absent."""
    kept = dict(document or {})
    while True:
        try:
            return JobStatus.from_document(kept)
        except ValidationError as error:
            spoilt = {str(fault["loc"][0]) for fault in error.errors()} & kept.keys()
            if not spoilt:
                raise
            logger.warning("the stored status has unreadable fields: %s", ", ".join(sorted(spoilt)))
            kept = {key: value for key, value in kept.items() if key not in spoilt}


def recorded_number(document: Document | None) -> int:
    """The last durable world number; 0: the job never had a world."""
    return max(_handed_out(document or {}), _published(document or {}))


def number_patch(number: int) -> dict[str, Any]:
    """The change of a status that makes a world's number durable, and nothing else."""
    return {_NUMBER: number}


def status_patch(document: Document | None, status: JobStatus) -> dict[str, Any]:
    """The change that makes the stored status this one; empty: it is. No number is ever lowered."""
    wanted, stored = status.to_document(), document or {}
    wanted[_NUMBER] = max(status.recorded_world, _handed_out(stored))
    if (status.world.number if status.world else 0) < _published(stored):
        wanted["world"] = stored["world"]
    return merge_patch(stored, wanted)


def _handed_out(stored: Document) -> int:
    number = stored.get(_NUMBER)
    return number if isinstance(number, int) else 0


def _published(stored: Document) -> int:
    world = stored.get("world")
    number = world.get("number") if isinstance(world, Mapping) else None
    return number if isinstance(number, int) else 0


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
