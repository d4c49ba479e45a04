"""What every cloud hands to the platform. The platform asks for nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from spotrain import contract


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool as built: what a job can have, where, with how much notice, at what list price."""

    name: str
    gpu: str
    """Model in lower case; `contract.NO_GPU` for nodes without."""
    gpus_per_node: int
    capacity: str
    zones: tuple[str, ...]
    instance_types: tuple[str, ...]
    """Empty for nodes that nobody rents by type."""
    max_nodes: int
    """Most nodes in one zone."""
    notice_seconds: int
    """What an ordinary pod has between SIGTERM and SIGKILL when its node is taken back."""
    spot_usd_per_hour: float
    """A typical price of the first instance type; spot prices move. 0 where nobody names one."""
    on_demand_usd_per_hour: float
    """List price of the first instance type; 0 where nobody names one."""

    def document(self) -> dict[str, object]:
        """The pool as the controller and the command line read it (`contract.POOLS_KEY`)."""
        return {
            "name": self.name,
            "gpu": self.gpu,
            "gpusPerNode": self.gpus_per_node,
            "capacity": self.capacity,
            "zones": list(self.zones),
            "instanceTypes": list(self.instance_types),
            "maxNodes": self.max_nodes,
            "noticeSeconds": self.notice_seconds,
            "spotUsdPerHour": self.spot_usd_per_hour,
            "onDemandUsdPerHour": self.on_demand_usd_per_hour,
        }

    def node_labels(self) -> dict[str, str]:
        """What its nodes carry on every cloud, beside their zone: jobs find them by these."""
        return {
            contract.LABEL_POOL: self.name,
            contract.LABEL_GPU: self.gpu,
            contract.LABEL_CAPACITY: self.capacity,
            contract.LABEL_ROLE: contract.ROLE_WORKER,
        }


@dataclass(frozen=True, kw_only=True)
class StoragePrices:
    """What moving a GB between a pod and the shared volume costs."""

    read_usd_per_gb: float
    written_usd_per_gb: float


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the cloud charges beside nodes, and how long idle nodes stay; None: nobody knows."""

    idle_minutes: int | None = None
    """How long a node has nothing to do before the autoscaler ends it."""
    storage: StoragePrices | None = None

    def document(self) -> dict[str, object]:
        """The terms as the controller and the command line read them (`contract.TERMS_KEY`)."""
        told: dict[str, object] = {}
        if self.idle_minutes is not None:
            told["idleMinutes"] = self.idle_minutes
        if self.storage is not None:
            told["storage"] = {
                "readUsdPerGb": self.storage.read_usd_per_gb,
                "writtenUsdPerGb": self.storage.written_usd_per_gb,
            }
        return told


@dataclass(frozen=True, kw_only=True)
class CsiVolume:
    """What a driver mounts by its handle."""

    driver: str
    handle: pulumi.Input[str]
    attributes: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    mount_options: Sequence[str] = ()
    fs_type: str | None = None
    """For a disk: the file system that is put on it when it has none."""


@dataclass(frozen=True, kw_only=True)
class NfsVolume:
    """A folder that a file server exports."""

    server: str
    path: str


@dataclass(frozen=True, kw_only=True)
class HostPathVolume:
    """A folder of the node: for a cluster of one node."""

    path: str


@dataclass(frozen=True, kw_only=True)
class ClassVolume:
    """What a storage class makes; it must be one whose volumes many nodes mount at once."""

    storage_class: str
    size_gib: int
    """What is asked for; many classes bill by it."""


VolumeSource = CsiVolume | NfsVolume | HostPathVolume | ClassVolume


@dataclass(frozen=True, kw_only=True)
class Volume:
    """Storage that every pod of every job can mount, as a claim in the job namespace."""

    claim: str
    """Name of the claim (`contract.VOLUME_CLAIM`, `contract.BUCKET_CLAIM`)."""
    source: VolumeSource
    mount: str
    """Where jobs mount it."""
    folders: tuple[str, ...] = ()
    """Made once, writable by `contract.JOB_UID`."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A disk that one pod mounts at a time, in the zone where it is."""

    source: CsiVolume
    zone: str
    size_gib: int
    ready: tuple[pulumi.Resource, ...]
    """What attaches it, and lets it go again."""


@dataclass(frozen=True, kw_only=True)
class AlertReceiver:
    """Where Alertmanager sends messages for people, in its own words."""

    kind: str
    """Key of the receiver's settings: sns_configs, webhook_configs, ..."""
    settings: Mapping[str, pulumi.Input[object]]
    ready: tuple[pulumi.Resource, ...] = ()
    """The right of Alertmanager's pod to send them; one that starts before never gets it."""


@dataclass(frozen=True, kw_only=True)
class PriceSource:
    """How spot prices are refreshed: arguments and environment of `python -m spotrain.clouds`."""

    arguments: tuple[pulumi.Input[str], ...]
    environment: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    ready: tuple[pulumi.Resource, ...] = ()
    """The identity of its pods; one that starts before never gets it."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where something answers, as a network policy names it."""

    cidr: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody, or a group, as the cluster's API server knows them."""

    kind: Literal["User", "Group"]
    name: str


@dataclass(frozen=True, kw_only=True)
class ImageReferences:
    """Container images, by digest."""

    training: pulumi.Input[str]
    controller: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """A cluster that can run the platform."""

    kubernetes: k8s.Provider
    pools: tuple[Pool, ...]
    volumes: tuple[Volume, ...]
    """The shared one with data/ and output/ first."""
    archive: Volume
    """For ledger and logs (`contract.ARCHIVE_CLAIM`): no job can write to it, or mount it."""
    metrics_disk: Disk | None
    """Where Prometheus keeps its metrics; None: the cluster's default class makes a disk."""
    alert_receiver: AlertReceiver | None
    """None: nobody is told."""
    prices: PriceSource | None
    """None: the prices in the pools are all there is."""
    job_credentials: Endpoint | None
    """Where jobs get their identity at the cloud; None: they have none."""
    researchers: tuple[Person, ...]
    """Who runs jobs and cannot be put into `contract.RESEARCHERS_GROUP` by the cloud: they get the
    rights of that group by name."""
    images: ImageReferences
    ready: tuple[pulumi.Resource, ...]
    """Pods can be scheduled, and mount the volume, once these exist. Whatever runs pods depends on
    them, so that a destroy removes the pods while there is still a node to stop them on."""
    outputs: Mapping[str, pulumi.Input[str | list[str]]]
    """What a person needs to know about this cloud: how to log in, how to mount the volume."""
    terms: Terms = Terms()
    """By which the ledger charges what nodes' prices do not say."""
