"""A job as one line of a table, out of a few fields of its document.

The API server can pick these fields itself, as columns of the CRD: five hundred jobs are 60 kB then
instead of 3 MB (packed), and cost it a tenth of the time. Documents that are at hand are read by
the same paths, so that both give the same line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spotrain import contract
from spotrain.controller import states
from spotrain.kinds import Object

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "Min": ("spec", "minReplicas"),
    "Max": ("spec", "maxReplicas"),
    "Desired": ("spec", "replicaSpecs", contract.WORKER, "replicas"),
    "Suspend": ("spec", "suspend"),
    "GPU": ("spec", "placement", "gpu"),
    "State": ("status", "state"),
    "Ready": ("status", "replicaStatuses", contract.WORKER, "ready"),
    "Step": ("status", "progress", "step"),
    "Left": ("status", "progress", "stepsLeft"),
    "Steps/s": ("status", "world", "stepsPerSecond"),
    "USD": ("status", "ledger", "totals", "estimatedUsd"),
}
"""Column of k8s/crd.yaml -> the field that it shows."""
AT_REST: Final = {states.SUSPENDED, states.SUCCEEDED, states.FAILED}
DELETING: Final = "Deleting"
STOPPING: Final = "Stopping"
INTERRUPTED: Final = "Interrupted"
"""State of a job of this machine that nobody runs though it has not ended."""


@dataclass(frozen=True, kw_only=True)
class JobRow:
    name: str
    created_at: datetime
    state: str
    ready: int
    wanted: int
    gpu: str
    step: int | None
    steps_left: int | None
    steps_per_second: float | None
    usd: float | None

    @property
    def seconds_left(self) -> float | None:
        """Should it train on as it does now; None: nobody can say."""
        return seconds_left(self.steps_left, self.steps_per_second)


def row_of(metadata: Object, cells: Mapping[str, Any]) -> JobRow:
    """`cells`: by COLUMNS. One that is absent, as in a cluster whose CRD is older, is not known."""
    return JobRow(
        name=str(metadata["name"]),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        state=state_of(
            cells.get("State") or states.PENDING,
            is_deleted=bool(metadata.get("deletionTimestamp")),
            suspend=bool(cells.get("Suspend")),
        ),
        ready=cells.get("Ready") or 0,
        wanted=wanted(cells.get("Desired"), least=cells.get("Min"), most=cells.get("Max")),
        gpu=cells.get("GPU") or "",
        step=cells.get("Step"),
        steps_left=cells.get("Left"),
        steps_per_second=cells.get("Steps/s"),
        usd=cells.get("USD"),
    )


def row_of_document(document: Object) -> JobRow:
    cells = {column: _field(document, path) for column, path in COLUMNS.items()}
    return row_of(document["metadata"], cells)


def seconds_left(steps: int | None, per_second: float | None) -> float | None:
    return steps / per_second if steps is not None and per_second else None


def state_of(stored: str, *, is_deleted: bool, suspend: bool) -> str:
    """One word. A job that is told to stop or go says so until its workers are gone."""
    if is_deleted:
        return DELETING
    return STOPPING if suspend and stored not in AT_REST else stored


def wanted(asked: int | None, *, least: int | None, most: int | None) -> int:
    """Workers, as `spotrain.job` brings what was asked for into the job's limits."""
    number = 1 if asked is None else asked
    least = least or min(number, most or number)
    most = most or max(number, least)
    return min(max(number, least), most)


def _field(document: Any, path: tuple[str, ...]) -> Any:
    """None where it is not there."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document
