"""What a Google Cloud project answers to a preflight: one value for each question, or why not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spotrain.clouds.answers import Answer

LOG_IN: Final = "gcloud auth application-default login"
"""By which a program may ask Google with a person's rights; gcloud itself has another login."""


@dataclass(frozen=True)
class Quota:
    metric: str
    """PREEMPTIBLE_NVIDIA_T4_GPUS, CPUS, ..."""
    limit: float
    usage: float


@dataclass(frozen=True, kw_only=True)
class NodePool:
    """One of GKE's, of a cluster."""

    name: str
    pool: str
    """Ours, by the label of its nodes; empty: of none."""
    zones: tuple[str, ...]
    max_nodes: int | None
    """In all of its zones; None: it does not scale by itself."""
    status: str
    """RUNNING, PROVISIONING, RUNNING_WITH_ERROR, ERROR, ..."""
    machine_type: str = ""
    disk_gb: int = 0
    disk_type: str = ""
    """Of a node's root disk."""
    problems: tuple[str, ...] = ()
    """GCE_STOCKOUT, GCE_QUOTA_EXCEEDED, ... with Google's words."""
    is_spot: bool = False
    notice_seconds: int | None = None
    """What ordinary pods get when a machine is taken back; None: GKE's default."""

    @property
    def market(self) -> tuple[str, str]:
        """(machine type, zone): where to ask what one of its machines is."""
        return self.machine_type, next(iter(self.zones), "")


@dataclass(frozen=True, kw_only=True)
class Project:
    id: str
    region: str
    quotas: Answer[Mapping[str, Quota]]
    """Of the region, by metric. Who may not ask even this is no member of the project."""
    all_regions: Answer[Mapping[str, Quota]]
    """Of the project as a whole, by metric: GPUS_ALL_REGIONS, CPUS_ALL_REGIONS, ..."""
    types: Mapping[tuple[str, str], Answer[int]]
    """(machine type, zone) -> its vCPUs; 0 where it is not sold. Of pools, and of
    node pools that are of none."""
    node_pools: Answer[tuple[NodePool, ...]]
    """Of the cluster."""
    images: Mapping[str, Answer[bool]]
    """Reference -> is it in its registry? Of those in Artifact Registry."""
