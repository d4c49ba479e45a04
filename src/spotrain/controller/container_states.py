"""What a pod's status tells of its training container."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from spotrain.job import worker_container

State = Literal["waiting", "running", "terminated"]


def container_state(
    spec: Mapping[str, Any], status: Mapping[str, Any], state: State
) -> Mapping[str, Any]:
    """What is told of the training container in that state; empty while it is in another."""
    trains = spec["containers"][worker_container({"spec": spec})]["name"]
    for container in status.get("containerStatuses") or ():
        if container["name"] == trains:
            return (container.get("state") or {}).get(state) or {}
    return {}


def started_at(spec: Mapping[str, Any], status: Mapping[str, Any]) -> datetime | None:
    """When the training container ran, by its node's clock; None: it has not yet."""
    for state in ("running", "terminated"):
        at = container_state(spec, status, state).get("startedAt")
        if at:
            return datetime.fromisoformat(at)
    return None
