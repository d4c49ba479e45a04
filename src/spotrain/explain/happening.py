"""An event of the API server, read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spotrain import contract


@dataclass(frozen=True)
class Happening:
    kind: str
    """Of what it is told: ElasticJob or Pod."""
    name: str
    uid: str
    reason: str
    message: str
    at: datetime
    """When it was told last."""
    since: datetime
    """When it was told first."""

    def is_of_worker(self, job_name: str) -> bool:
        pattern = rf"{re.escape(job_name)}-{contract.WORKER.lower()}-\d+"
        return self.kind == "Pod" and re.fullmatch(pattern, self.name) is not None


def read_happening(document: Mapping[str, Any]) -> Happening | None:
    """None for an event without a time. Which field has it depends on the recorder's age."""
    about, series = document.get("involvedObject") or {}, document.get("series") or {}
    made = (document.get("metadata") or {}).get("creationTimestamp")
    last = series.get("lastObservedTime") or document.get("lastTimestamp")
    first = document.get("firstTimestamp") or document.get("eventTime") or made
    at = last or document.get("eventTime") or made
    if not at:
        return None
    return Happening(
        kind=about.get("kind", ""),
        name=about.get("name", ""),
        uid=about.get("uid", ""),
        reason=document.get("reason") or "",
        message=" ".join((document.get("message") or "").split()),
        at=datetime.fromisoformat(at),
        since=datetime.fromisoformat(first or at),
    )
