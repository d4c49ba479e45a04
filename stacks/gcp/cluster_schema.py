"""The settings of the control plane, and of everything that nodes are."""

from typing import Annotated, Literal

from pydantic import Field

from spotrain import contract
from stacks.section import Flag, Name, Section, Whole, words

Principal = Annotated[
    str,
    Field(
        pattern=r"^(user|group|serviceAccount):[^\s@:]+@[^\s@:]+\.[^\s@:]+$",
        json_schema_extra=words(
            "a principal of IAM: user:, group: or serviceAccount:, and an e-mail address",
            "write user:ada@example.com, group:team@example.com or serviceAccount:ci@<project>."
            "iam.gserviceaccount.com",
        ),
    ),
]


class Cluster(Section):
    """The GKE control plane."""

    version: Literal["1.35", "1.36"] = "1.35"
    """Kubernetes version at least, in quotes; default 1.35, the first that gives pods 105 seconds
    of a spot node's notice. The release channel upgrades it."""
    channel: Literal["RAPID", "REGULAR", "STABLE"] = "REGULAR"
    """Release channel; default REGULAR. Google upgrades control plane and nodes along it, one node
    after the other."""
    control_plane: Literal["zonal", "regional"] = "zonal"
    """`zonal` (default: in the first zone; training goes on while it is upgraded or away, but
    nothing starts) or `regional` (in three zones). Both cost $0.10 an hour; Google gives a billing
    account back what one zonal cluster costs. A change makes the cluster anew, with an empty file
    system: copy what is on the old one first."""
    admins: tuple[Principal, ...] = ()
    """Who has full rights in the cluster; default none. Whoever may administer GKE in the project,
    as the one who runs this program must, has them already."""
    researchers: tuple[Principal, ...] = ()
    """Who may run jobs: they have rights in the job namespace, may see nodes and prices, and
    nothing else; default none. A group needs Google Groups for RBAC (`groups_domain`)."""
    groups_domain: (
        Annotated[
            str,
            Field(
                pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$",
                json_schema_extra=words("a domain, like example.com"),
            ),
        ]
        | None
    ) = None
    """Domain of the organization whose group gke-security-groups@<domain> holds the groups that
    have rights in clusters (Google Groups for RBAC); default none: groups cannot be named."""
    secrets_key: Flag = True
    """Encrypt the cluster's Kubernetes secrets with a key of the stack's own (Cloud KMS), beside
    Google's encryption of everything at rest; default true. Key rings cannot be deleted: an empty
    one, free of charge, stays after a destroy."""
    deletion_protection: Flag = False
    """Refuse to delete the cluster; default false. With it a destroy takes two steps: set it to
    false and `pulumi up`, then `pulumi destroy`."""


class Managers(Section):
    """On-demand nodes for the controller and the cluster's own services."""

    machine_type: str = "e2-standard-2"
    """Machine type; default e2-standard-2 (2 vCPU, 8 GiB)."""
    min_nodes: Annotated[Whole, Field(ge=2, le=20)] = 2
    """Fewest nodes; default 2, one in each of two zones, so that losing one stops nothing."""
    max_nodes: Annotated[Whole, Field(ge=2, le=20)] = 4
    """Most nodes; default 4: room for an upgrade and for add-ons on request."""
    disk_gib: Annotated[Whole, Field(ge=20, le=1000)] = 50
    """Root disk in GiB; default 50, for images and logs."""


class Pool(Section):
    """A kind of GPU node: one node pool per zone, none running until a job needs them."""

    name: Name
    """Name of the pool in node pools, labels and job placement. Renaming replaces the nodes."""
    gpu: str
    """GPU model as a job asks for it: t4, l4, a100, a100-80gb or h100 (stacks/gcp/gpus.yaml).
    Checked against the machine type."""
    gpus_per_node: Annotated[Whole, Field(ge=1, le=16)]
    """GPUs of one node. An N1 machine gets as many; the others have them by their type."""
    capacity: Literal["spot", "on-demand"] = contract.CAPACITY_SPOT
    """`spot` (default: cheap, taken back at two minutes' notice) or `on-demand`. A change makes the
    pool's node pools anew."""
    machine_type: str
    """Machine type, such as g2-standard-4. One: a node pool of GKE has no second choice, so more
    capacity comes from more zones, or from another pool with the same GPU. A change makes the
    pool's node pools anew: the nodes of the old ones leave together, which its jobs see as a
    notice."""
    zones: tuple[str, ...] = ()
    """Zones of the pool; default all zones of the stack that have the GPU. Each zone is one node
    pool, as a job's workers stay in one zone."""
    max_nodes: Annotated[Whole, Field(ge=1, le=100)]
    """Most nodes in one zone; the limit on what a mistake can cost."""
    on_demand_max_nodes: Annotated[Whole, Field(ge=0, le=100)] = 0
    """Most nodes in one zone of an on-demand twin, `<name>-on-demand`: a pool like this one, to
    which jobs with `capacity: spotThenOnDemand` go when spot has nothing; default 0: no twin."""
    disk_gib: Annotated[Whole, Field(ge=50, le=4000)] = 100
    """Root disk in GiB; default 100: a training image with CUDA unpacks to 6 GB (docs/images.md),
    and the rest is for larger ones and temporary files. Machines with A100-80GB or H100 bring disks
    of their own, 375 GB each, where both lie instead."""
    compact: Flag = False
    """Place the nodes of a zone close to each other, for jobs over several nodes with 4 or 8 GPUs
    each; default false. Fewer places can serve such nodes, and T4 are never placed so. Switching
    it makes the pool's node pools anew."""


class Autoscaler(Section):
    """When nodes come and go. The autoscaler is GKE's own."""

    profile: Literal["BALANCED", "OPTIMIZE_UTILIZATION"] = "BALANCED"
    """`BALANCED` (default: an idle node goes away after ten minutes, long enough for the next job
    of a series to find it still there) or `OPTIMIZE_UTILIZATION` (sooner)."""
