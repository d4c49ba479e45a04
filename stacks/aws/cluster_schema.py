"""The settings of the control plane, and of everything that nodes are."""

from typing import Annotated, Literal

from pydantic import Field

from spotrain import contract
from stacks.aws import arns
from stacks.aws.network_schema import LogDays
from stacks.section import Flag, Meant, Name, Section, Whole, words

RoleArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+$",
        json_schema_extra=words("the ARN of an IAM role or user"),
    ),
    Meant(arns.principal),
]


class Cluster(Section):
    """The EKS control plane."""

    version: Literal["1.35", "1.36"] = "1.36"
    """Kubernetes version, in quotes; default 1.36, the newest with a matching autoscaler here.
    Standard support only: when it ends AWS upgrades the cluster, as extended support costs six
    times as much."""
    admins: tuple[RoleArn, ...] = ()
    """IAM roles or users with full rights in the cluster; default none. Whoever creates the cluster
    has them already and must not be named (EKS refuses a second entry); whoever else runs this
    program must be."""
    researchers: tuple[RoleArn, ...] = ()
    """IAM roles or users that may run jobs: they have rights in the job namespace, may see nodes
    and prices, and nothing else; default none."""
    log_types: tuple[
        Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...
    ] = ("audit", "authenticator")
    """Control-plane logs sent to CloudWatch, billed by the GB; default audit and authenticator:
    who did what, without the volume of `api`."""
    log_days: LogDays = 90
    """Days that control-plane logs are kept; default 90. Left to itself EKS keeps them, and bills
    for them, for ever."""
    deletion_protection: Flag = False
    """Refuse to delete the cluster; default false. With it a destroy takes two steps: set it to
    false and `pulumi up`, then `pulumi destroy`."""
    addon_versions: dict[Name, str] = Field(default_factory=dict)
    """Add-on -> version, instead of the one that this repository pins (stacks/aws/addons.yaml);
    default none. `default` lets EKS choose when it installs the add-on."""


class Managers(Section):
    """On-demand nodes for the controller and the cluster's own services."""

    instance_types: Annotated[tuple[str, ...], Field(min_length=1)] = ("m7i.large",)
    """Instance types, the preferred one first; default m7i.large (2 vCPU, 8 GiB)."""
    min_nodes: Annotated[Whole, Field(ge=2, le=20)] = 2
    """Fewest nodes; default 2, one in each of two zones, so that losing one stops nothing. EKS
    refuses a number above the nodes that run: to raise it later, scale the group up first
    (`aws eks update-nodegroup-config --scaling-config desiredSize=...`)."""
    max_nodes: Annotated[Whole, Field(ge=2, le=20)] = 4
    """Most nodes; default 4: room for a rolling update and for add-ons on request."""
    disk_gib: Annotated[Whole, Field(ge=20, le=1000)] = 50
    """Root disk in GiB; default 50, for images and logs."""


class Pool(Section):
    """A kind of GPU node: one node group per zone, none running until a job needs them."""

    name: Name
    """Name of the pool in node groups, labels and job placement. Renaming replaces the nodes."""
    gpu: str
    """GPU model as a job asks for it: t4, a10g, l4, l40s, rtx-pro-6000, a100, a100-80gb, h100, h200
    or b200 (stacks/aws/gpus.yaml). Checked against the types."""
    gpus_per_node: Annotated[Whole, Field(ge=1, le=16)]
    """GPUs of one node. The autoscaler is told this number while no node exists."""
    capacity: Literal["spot", "on-demand"] = contract.CAPACITY_SPOT
    """`spot` (default: cheap, taken back at two minutes' notice) or `on-demand`. A change makes the
    pool's node groups anew, as one of `instance_types` does."""
    instance_types: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    """Instance types with the same GPU, smallest first: the autoscaler models the first only. More
    types mean more spot capacity. A change makes the pool's node groups anew: the nodes of the old
    ones leave together, which its jobs see as a notice; so change it while few of them train."""
    zones: tuple[str, ...] = ()
    """Zones of the pool; default all zones of the stack. Each zone is one node group, as a job's
    workers stay in one zone."""
    max_nodes: Annotated[Whole, Field(ge=1, le=100)]
    """Most nodes in one zone; the limit on what a mistake can cost. Change it while the pool
    does not grow: EKS is told limit and size together (docs/decisions/0008-refresh.md)."""
    on_demand_max_nodes: Annotated[Whole, Field(ge=0, le=100)] = 0
    """Most nodes in one zone of an on-demand twin, `<name>-on-demand`: a pool like this one, to
    which jobs with `capacity: spotThenOnDemand` go when spot has nothing; default 0: no twin."""
    disk_gib: Annotated[Whole, Field(ge=50, le=4000)] = 100
    """Root disk in GiB; default 100: a training image with CUDA unpacks to 6 GB (docs/images.md),
    and the rest is for larger ones and temporary files. Pods may use nine tenths of it."""
    local_disks: Literal["ignore", "raid0"] = "ignore"
    """NVMe disks of the instance: `ignore` (default) or `raid0`. Then they hold images, logs and
    temporary files instead of the root disk, which is faster, costs nothing more and fits a data
    set's cache (125 GB on a g4dn.xlarge, 8 TB on a p4d.24xlarge)."""
    efa: Flag = False
    """Elastic Fabric Adapters and a cluster placement group in each zone, for jobs over several
    nodes with 4 or 8 GPUs each; default false. Needs types that have them, and fewer places can
    serve such a group. A worker asks for them as `vpc.amazonaws.com/efa`, and its image brings
    aws-ofi-nccl. Switching it makes the pool's node groups anew."""


class Autoscaler(Section):
    """When nodes come and go."""

    idle_minutes: Annotated[Whole, Field(ge=1, le=240)] = 10
    """Minutes after which an idle node goes away; default 10: long enough for the next job of a
    series to find it still there."""
    provision_minutes: Annotated[Whole, Field(ge=3, le=30)] = 5
    """Minutes in which an ordered node must have come; default 5. Spot capacity that has not come
    by then is not there: another zone or pool is tried."""
