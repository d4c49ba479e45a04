"""The settings of a stack on a cluster that exists already: kind, minikube, or any cloud's.

What no single field can know is in rules.py.
"""

from typing import Annotated, Literal

from pydantic import Field

from spotrain import contract
from stacks.platform_schema import PlatformSettings
from stacks.section import Amount, Name, Section, Whole, words

Gpu = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$",
        json_schema_extra=words("lower-case letters, digits and '-', like l4 or rtx4090"),
    ),
]
Word = Annotated[str, Field(pattern=r"^[^\s]+$", json_schema_extra=words("a name without spaces"))]
LabelValue = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
        json_schema_extra=words("a label's value: up to 63 letters, digits, '.', '_' and '-'"),
    ),
]
Folder = Annotated[
    str,
    Field(
        pattern=r"^/[^\s]*$",
        json_schema_extra=words("a path that starts with /"),
    ),
]
Reference = Annotated[
    str,
    Field(
        pattern=r"^[^\s:@]+(:[0-9]+/[^\s:@]+)?(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$",
        json_schema_extra=words("an image reference, like registry.example/spotrain-training:1.0"),
    ),
]


class Kubeconfig(Section):
    """The way to the cluster."""

    context: Word
    """Context of the kubeconfig, such as kind-kind. No default: the current context changes with
    whatever somebody did last, and a stack must not follow it. Another context is another cluster:
    everything is made anew there."""
    path: Annotated[
        str,
        Field(
            pattern=r"^(~/|/)[^\s]+$", json_schema_extra=words("a path that starts with / or ~/")
        ),
    ] = "~/.kube/config"
    """File with the context; default ~/.kube/config, which is right for everybody who runs the
    stack. Only the path is kept in Pulumi's state, never what is in the file."""


class ExistingPool(Section):
    """Nodes that are there, with the labels of docs/existing-cluster.md on them."""

    name: Name
    """Name of the pool: its nodes carry the label spotrain.dev/pool with this value."""
    gpu: Gpu
    """GPU model as a job asks for it, in lower case; `cpu` for nodes without."""
    gpus_per_node: Annotated[Whole, Field(ge=0, le=16)]
    """GPUs of one node; 0 for nodes without, on which jobs train on the processor."""
    capacity: Literal["spot", "on-demand"] = contract.CAPACITY_ON_DEMAND
    """`on-demand` (default) or `spot`: whether somebody may take the nodes back."""
    zones: Annotated[tuple[LabelValue, ...], Field(min_length=1)]
    """Values of topology.kubernetes.io/zone that the nodes carry; a job's workers share one."""
    max_nodes: Annotated[Whole, Field(ge=1, le=1000)]
    """Nodes in one zone at most. A job that needs more GPUs than they have is told so and waits."""
    notice_seconds: Annotated[Whole, Field(ge=1, le=3600)] = 300
    """Seconds from the order to leave to the end of a node, and so the grace period of workers;
    default 300. On spot nodes what the cloud gives: 15 to 120."""
    usd_per_hour: Annotated[Amount, Field(ge=0, le=10_000)] = 0.0
    """What a node costs an hour, at the capacity of the pool; default 0: costs are not told."""
    on_demand_usd_per_hour: Annotated[Amount, Field(ge=0, le=10_000)] = 0.0
    """With `capacity: spot`: what the same node costs on demand; default 0."""


class Nfs(Section):
    """A file server that every node reaches. Nodes need the NFS client, as most images have it."""

    server: Word
    """Name or address of the server."""
    path: Folder
    """Exported folder; uid 1000 must be able to write there."""


class StorageClass(Section):
    """A storage class that makes volumes which many nodes mount at once (ReadWriteMany)."""

    name: Word
    """Name of the class. With reclaim policy Delete, its usual one, data goes with the claim and so
    with a destroy: take one that retains."""
    size_gib: Annotated[Whole, Field(ge=1, le=1_000_000)] = 100
    """Size of the volume in GiB; default 100. Many classes bill by it."""


class Volume(Section):
    """Where data/ and output/ are; exactly one of these."""

    nfs: Nfs | None = None
    """A folder of a file server; default none."""
    storage_class: StorageClass | None = None
    """A volume that a storage class makes; default none."""
    host_path: Folder | None = None
    """A folder of the node, which uid 1000 must be able to write to; for a cluster of one node such
    as kind, or where the same folder is mounted on every node; default none."""
    archive: Folder | None = None
    """With nfs or host_path: the folder for what every job did and printed, which uid 1000 must be
    able to write to and no job may reach; default: beside the other one, with -archive after its
    name. A storage class makes a second volume."""


class GivenImages(Section):
    """The container images; a cluster that exists has no registry of ours."""

    training: Reference
    """The training image, with a tag other than latest, or better with its digest. Jobs name their
    image themselves: this is what `pulumi stack output trainingImage` tells their authors."""
    controller: Reference
    """The controller image, with a tag other than latest, or better with its digest."""


class ExistingSettings(PlatformSettings):
    """Everything a person may set in a stack file for a cluster that exists already."""

    cloud: Literal["existing"]
    """The cloud to build on: existing."""
    kubeconfig: Kubeconfig
    """How to reach the cluster."""
    pools: Annotated[tuple[ExistingPool, ...], Field(min_length=1)]
    """The nodes that jobs may use; at least one pool."""
    volume: Volume
    """Where data/ and output/ are."""
    images: GivenImages
    """Training and controller image."""
