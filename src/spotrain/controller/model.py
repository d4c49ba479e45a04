"""The vocabulary of `reconcile`: what it sees of the world; what it decides is in `plan`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from spotrain import contract
from spotrain.controller.board import Board
from spotrain.controller.plan import (
    Action,
    ApplyDisruptionBudget,
    ApplyNetworkPolicy,
    ApplyPodGroup,
    CreatePod,
    DeleteDisruptionBudget,
    DeleteJob,
    DeletePod,
    Event,
    Plan,
    RestartWorld,
    earliest,
)
from spotrain.controller.status import JobStatus
from spotrain.job import Pool
from spotrain.worlds.history import History

__all__ = [
    "CLUSTER_COORDINATOR",
    "Action",
    "ApplyDisruptionBudget",
    "ApplyNetworkPolicy",
    "ApplyPodGroup",
    "Board",
    "BudgetView",
    "CoordinatorAddress",
    "CreatePod",
    "DeleteDisruptionBudget",
    "DeleteJob",
    "DeletePod",
    "Event",
    "JobStatus",
    "NodeView",
    "Observed",
    "Plan",
    "PodView",
    "RestartWorld",
    "StalledWorld",
    "Taint",
    "TrafficView",
    "WorldView",
    "earliest",
]


@dataclass(frozen=True)
class PodView:
    """A worker's pod. Whoever observes hands over only pods owned by this very job (its uid)."""

    name: str
    uid: str
    index: int
    phase: Literal["Pending", "Running", "Succeeded", "Failed"]
    node: str | None
    ready: bool
    deleting: bool
    exit_code: int | None
    """Of the training container, once it has ended."""
    reason: str
    """The pod's, or else its container's: Evicted, NodeLost, OOMKilled, Error."""
    disrupted: bool
    """The pod's condition DisruptionTarget."""
    message: str
    """The termination message, or the pod's own."""
    created_at: datetime
    unschedulable: str
    """Why the scheduler finds no node, in its words; else empty."""
    deletion_cost: int = 0
    """The annotation controller.kubernetes.io/pod-deletion-cost: cheaper pods leave first."""
    delete_by: datetime | None = None
    """deletionTimestamp: when the grace period of a deleted pod ends."""
    ended_at: datetime | None = None
    """When the training container ended, by its node's clock."""
    made_of: str = ""
    """The annotation that says what the pod was made of; empty: it does not say."""
    place: str = ""
    """The offer to which it was pinned, as `Offer.place`; empty: none that we know of."""
    scheduled_at: datetime | None = None
    """When it got its node."""
    waits_for: str = ""
    """Why its training container does not start yet, in the kubelet's word."""
    started_at: datetime | None = None
    """When its training container ran, by its node's clock."""
    gpus: int = 0
    """That it asks for."""


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class NodeView:
    name: str
    pool: str
    zone: str
    ready: bool
    cordoned: bool
    taints: tuple[Taint, ...] = ()
    silent_since: datetime | None = None
    """Since when its kubelet has not been heard of; None: it has."""
    created_at: datetime | None = None
    gpus: int = 0
    """GPUs that the node offers; none until its device plugin has started."""
    capacity: str = ""
    """Spot or on demand, as its pool's label says."""
    instance_type: str = ""
    """Empty: nobody rents it by type."""


@dataclass(frozen=True)
class BudgetView:
    """The job's PodDisruptionBudget, as it stands."""

    uid: str
    min_available: int


@dataclass(frozen=True)
class StalledWorld:
    """A world that the coordinator has ended because it did no step any more."""

    number: int
    message: str
    """Which ranks held it up, and where they were."""


@dataclass(frozen=True)
class TrafficView:
    """What a pod has moved between itself and the shared volume."""

    read_bytes: int
    written_bytes: int
    at: datetime
    """When its agent said so."""


@dataclass(frozen=True)
class WorldView:
    """What the coordinator says of the job's world."""

    number: int
    size: int
    phase: str
    """waiting, forming, running, draining or closed."""
    since: datetime
    step: int
    outcome: Literal["succeeded", "failed"] | None = None
    """Set when the coordinator has closed the job."""
    message: str = ""
    """Why it failed, in the words of the rank that did."""
    restarts: int = 0
    """Failures of ranks that the coordinator has answered with a restart inside the pods."""
    stalled: StalledWorld | None = None
    """The last one of this job."""
    awaits_first_step: bool = False
    """The script will tell of its steps, and has told of none yet."""
    chapters: History = ()
    """The newest worlds, in seconds of the coordinator's clock."""
    clock_began: datetime | None = None
    """When that clock was at 0."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """What the script last told of its training."""
    steps_left: int | None = None
    """To the end of training; None: the script does not tell."""
    traffic: Mapping[str, TrafficView] = field(default_factory=dict)
    """By name of the pod, the last one of that name whose agent has told."""


@dataclass(frozen=True)
class CoordinatorAddress:
    """Where the agents of this platform find the coordinator, and how they are trusted."""

    url: str
    """ws:// or wss:// addresses, separated by commas."""
    local: bool = False
    """On one machine: a random token in the environment instead of a pod's identity."""
    token: str = ""


CLUSTER_COORDINATOR: Final = CoordinatorAddress(
    f"wss://{contract.COORDINATOR_SERVICE}.{contract.SYSTEM_NAMESPACE}.svc:"
    f"{contract.COORDINATOR_PORT}"
)


REFRESH_SECONDS: Final = 15
"""A step takes a fraction of a second; a write for each would drown the API server."""


@dataclass(frozen=True)
class Observed:
    """The cluster as it is now. `status` is the one stored last, on which the next one builds."""

    pods: tuple[PodView, ...] = ()
    nodes: tuple[NodeView, ...] = ()
    pools: tuple[Pool, ...] = ()
    world: WorldView | None = None
    """None: the coordinator knows nothing of the job."""
    status: JobStatus = field(default_factory=JobStatus)
    disruption_budget: BudgetView | None = None
    gang_apis: frozenset[str] = frozenset()
    """API versions of the PodGroups that the cluster knows."""
    coordinator: CoordinatorAddress = CLUSTER_COORDINATOR
    node_lost_seconds: float = 30.0
    """A node that is silent for longer is not waited for."""
    refresh_seconds: float = REFRESH_SECONDS
    """Between two writes of a job's progress."""
    board: Board = field(default_factory=Board)
    """What concerns the job and is none of its own: prices, other jobs, the autoscaler's word."""
