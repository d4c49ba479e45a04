"""The settings of a stack on a cluster that exists already: kind, minikube, or any cloud's."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.platform_schema import PlatformSettings
from stacks.section import Name, Section, Whole, words

Reference = Annotated[
    str,
    Field(pattern=r"^[^\s]+$", json_schema_extra=words("an image reference")),
]


class Kubeconfig(Section):
    """The cluster."""

    context: str
    """Context of the kubeconfig, such as kind-kind. No default: the current context changes with
    whatever somebody did last, and a stack must not follow it."""
    path: str = "~/.kube/config"
    """The kubeconfig; default ~/.kube/config."""


class ExistingPool(Section):
    """Nodes that are there, with the labels of docs/existing-cluster.md on them."""

    name: Name
    """Name of the pool: its nodes carry the label spotrain.dev/pool with this value."""
    gpu: str
    """GPU model as a job asks for it, in lower case; `cpu` for nodes without."""
    gpus_per_node: Annotated[Whole, Field(ge=0, le=16)]
    """GPUs of one node; 0 for nodes without, on which jobs train on the processor."""
    capacity: Literal["spot", "on-demand"] = "on-demand"
    """`on-demand` (default) or `spot`: whether somebody may take the nodes back."""
    zones: Annotated[tuple[str, ...], Field(min_length=1)]
    """Values of topology.kubernetes.io/zone that the nodes carry."""
    max_nodes: Annotated[Whole, Field(ge=1, le=1000)]
    """Nodes in one zone at most."""
    notice_seconds: Annotated[Whole, Field(ge=0, le=3600)] = 300
    """Seconds from the order to leave to the end of a node; default 300."""
    usd_per_hour: Annotated[float, Field(ge=0)] = 0.0
    """What a node costs an hour; default 0: costs are then not told."""
    on_demand_usd_per_hour: Annotated[float, Field(ge=0)] = 0.0
    """With spot: what the node would cost on demand; default 0."""


class Nfs(Section):
    """A file server."""

    server: str
    """Name or address of the server."""
    path: str
    """Exported path."""


class Volume(Section):
    """Where data/ and output/ are; exactly one of these."""

    nfs: Nfs | None = None
    """A file server that every node reaches; default none."""
    storage_class: str | None = None
    """A storage class that makes volumes which many nodes mount at once; default none."""
    host_path: str | None = None
    """A folder of the node, for a cluster of one node such as kind; default none."""


class GivenImages(Section):
    """The container images; a cluster that exists has no registry of ours."""

    training: Reference
    """The training image; with its digest wherever there is a registry."""
    controller: Reference
    """The controller image; with its digest wherever there is a registry."""


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
