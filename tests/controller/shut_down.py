"""Pods as kubelets leave them on machines that are taken back: what GKE keeps of a spot node."""

from typing import Any, Final

SHUTDOWN: Final = "Pod was terminated in response to imminent node shutdown."
"""The kubelet's own words."""


def ended(exit_code: int) -> list[dict[str, Any]]:
    moment = "2026-01-01T11:59:50Z"
    terminated = {"exitCode": exit_code, "reason": "Error", "finishedAt": moment}
    return [{"name": "elasticjob-worker", "state": {"terminated": terminated}}]


LEFT_IN_TIME: Final[dict[str, Any]] = {
    "phase": "Failed",
    "reason": "Terminated",
    "message": SHUTDOWN,
    "conditions": [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "message": SHUTDOWN,
        },
        {"type": "Ready", "status": "False", "reason": "PodFailed"},
    ],
    "containerStatuses": ended(143),
}
"""It saved and left; nobody deletes it."""
OF_AN_OLDER_KUBELET: Final[dict[str, Any]] = {
    "phase": "Failed",
    "reason": "Terminated",
    "message": SHUTDOWN,
    "containerStatuses": ended(1),
}
"""Without the condition, and of a script that exits as if it had failed by itself."""
CAME_TOO_LATE: Final[dict[str, Any]] = {
    "phase": "Failed",
    "reason": "NodeShutdown",
    "message": "Pod was rejected as the node is shutting down.",
}
OF_A_NODE_REBORN: Final[dict[str, Any]] = {
    "phase": "Failed",
    "reason": "NodeAffinity",
    "message": "Pod was rejected: Predicate NodeAffinity failed",
}
"""The machine came back under its old name, before anybody missed it."""
ALL: Final = {
    "left-in-time": LEFT_IN_TIME,
    "older-kubelet": OF_AN_OLDER_KUBELET,
    "came-too-late": CAME_TOO_LATE,
    "node-reborn": OF_A_NODE_REBORN,
}
