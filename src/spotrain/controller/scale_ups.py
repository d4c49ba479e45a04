"""What the cluster-autoscaler says of pods: its events, read.

It tells of each pod that waits for a node whether it has ordered one (TriggeredScaleUp) or why not
(NotTriggerScaleUp); in some clouds also when an order failed (FailedScaleUp). The wording is that
of releases 1.35 and 1.36 (docs/decisions/0003-autoscaler.md).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from spotrain.controller.board import ScaleUp

SOURCE: Final = "cluster-autoscaler"
SELECTOR: Final = {"fieldSelector": f"involvedObject.kind=Pod,source={SOURCE}"}
ORDERED: Final = "TriggeredScaleUp"
FAILED: Final = "FailedScaleUp"
NOT_TRIGGERED: Final = "NotTriggerScaleUp"
BACKING_OFF: Final = "in backoff after failed scale-up"
LIMITS: Final = ("max node group size reached", "limit reached", "max total nodes")
"""Nothing has failed there: when nodes of other jobs go, there is room."""
Kind = Literal["ordered", "failed", "full"]
Word = tuple[str, ScaleUp]
"""Uid of the pod that is spoken of, and what is said."""


def view_scale_up(document: Mapping[str, Any]) -> Word | None:
    """None for an event that says nothing of nodes for a pod."""
    uid = (document.get("involvedObject") or {}).get("uid")
    moment = _moment(document)
    kind = _kind(document.get("reason", ""), document.get("message") or "")
    if not uid or moment is None or kind is None:
        return None
    said = " ".join((document.get("message") or "").split())
    return uid, ScaleUp(kind, said, moment)


def _kind(reason: str, message: str) -> Kind | None:
    if reason == ORDERED:
        return "ordered"
    if reason == FAILED:
        return "failed"
    if reason != NOT_TRIGGERED:
        return None
    if BACKING_OFF not in message and any(limit in message for limit in LIMITS):
        return "full"
    return "failed"


def _moment(document: Mapping[str, Any]) -> datetime | None:
    """When it was last said; which field tells depends on the age of the recorder's library."""
    series = document.get("series") or {}
    for text in (
        series.get("lastObservedTime"),
        document.get("lastTimestamp"),
        document.get("eventTime"),
        (document.get("metadata") or {}).get("creationTimestamp"),
    ):
        if text:
            return datetime.fromisoformat(text)
    return None
