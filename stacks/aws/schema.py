"""The settings of a stack on AWS. What no single field can know is in rules.py."""

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field

from spotrain import contract
from stacks.platform_schema import Observability, PlatformSettings
from stacks.section import Digest, Email, Flag, Name, Section, Whole, words

RoleArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+$",
        json_schema_extra=words("the ARN of an IAM role or user"),
    ),
]
SecurityGroupId = Annotated[
    str,
    Field(
        pattern=r"^sg-[0-9a-f]{8,17}$",
        json_schema_extra=words("the id of a security group, like sg-0123456789abcdef0"),
    ),
]
FileSystemArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws:elasticfilesystem:[a-z0-9-]+:\d{12}:file-system/fs-[0-9a-f]{8,40}$",
        json_schema_extra=words("the ARN of an EFS file system"),
    ),
]
LogDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731]
"""The retention times that CloudWatch knows."""
Endpoint = Literal[
    "ecr.api",
    "ecr.dkr",
    "sts",
    "ec2",
    "eks",
    "eks-auth",
    "autoscaling",
    "elasticfilesystem",
    "logs",
]


class ApiAccess(Section):
    """Who reaches the Kubernetes API endpoint. Give `cidrs` or `private`; there is no default."""

    cidrs: tuple[IPv4Network, ...] = ()
    """Public IPv4 blocks that may reach a public endpoint; default none. The program applies
    Kubernetes objects itself, so the machine that runs it must be in one of them."""
    private: Literal["vpn", "runner"] | None = None
    """No public endpoint at all; names the way in: `vpn` (a VPN, peering or transit gateway into
    the VPC) or `runner` (the program runs on a machine inside the VPC). Default none."""
    private_cidrs: tuple[IPv4Network, ...] = ()
    """With `private`: address blocks beside the VPC's own from which connections arrive; default
    none, which fits a runner and AWS Client VPN (it arrives with the VPC's addresses)."""


class Network(Section):
    """The VPC."""

    cidr: IPv4Network = IPv4Network("10.0.0.0/16")
    """Address block of the VPC, /16 to /20, private (RFC 1918); default 10.0.0.0/16. Every pod has
    an address of its own, so the largest block costs nothing and never has to be changed."""
    service_cidr: IPv4Network = IPv4Network("172.20.0.0/16")
    """Address block of Kubernetes Services; default 172.20.0.0/16. It exists only inside the
    cluster, must not overlap the VPC, and cannot be changed later."""
    nat: Literal["single", "per_zone"] = "single"
    """NAT gateways: `single` (default; cheapest, and a loss of its zone cuts all nodes off the
    internet) or `per_zone` (one each; no traffic between zones)."""
    endpoints: tuple[Endpoint, ...] = ()
    """AWS services that nodes reach inside the VPC instead of through the NAT; default none. Each
    costs about $7.30 a month and zone; `ecr.api` with `ecr.dkr` pays off with much image traffic.
    S3 has a gateway endpoint in any case: it is free."""
    flow_log_days: LogDays | None = None
    """Days that records of every connection are kept in CloudWatch; default: no records. They are
    billed by the GB; an audit usually asks for them."""
    api_access: Annotated[
        ApiAccess,
        Field(
            json_schema_extra={
                "next": "set network.api_access to `cidrs: [<your office or runner>/32]`, "
                "or to `private: vpn` or `private: runner` for no public endpoint"
            }
        ),
    ]
    """Who may reach the Kubernetes API endpoint. It has no default because every default is wrong
    for somebody: open to the world, or closed to this very program."""


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
    """`spot` (default: cheap, taken back at two minutes' notice) or `on-demand`."""
    instance_types: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    """Instance types with the same GPU, smallest first: the autoscaler models the first only. More
    types mean more spot capacity."""
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
    """Root disk in GiB; default 100: a CUDA training image unpacks to 10 to 20 GiB. Pods may use
    nine tenths of it."""
    local_disks: Literal["ignore", "raid0"] = "ignore"
    """NVMe disks of the instance: `ignore` (default) or `raid0`: they hold images, logs and
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


class Storage(Section):
    """The shared file system (EFS) with data/ and output/, and a bucket beside it."""

    throughput: Literal["bursting", "elastic"] = "bursting"
    """`bursting` (default: paid with the stored bytes; for each GiB of them 50 KiB/s written or
    150 KiB/s read, and more for some hours a day) or `elastic` (fast at any size, about $0.03 per
    GB read and $0.06 per GB written). docs/cost.md works an example out."""
    backup: Flag = False
    """Nightly backups by AWS Backup, in a vault with a key of its own; default false, as data sets
    usually have a source elsewhere. Of the file system only: the bucket keeps for a week what was
    deleted or overwritten in it."""
    backup_days: Annotated[Whole, Field(ge=7, le=365)] = 35
    """Days that a backup is kept; default 35. At least 7: a backup copies what has changed since
    the one before, and copies everything where that one is gone."""
    retain: Flag = False
    """Keep file system, backups and bucket, with their keys, when the stack is destroyed; default
    false: ALL OF IT IS DELETED WITH THE STACK, every object and every backup too. Says what the
    last `pulumi up` said: a change needs one before the destroy. What was kept is billed, and comes
    back with `file_system`."""
    file_system: FileSystemArn | None = None
    """ARN of a file system to use instead of a new one, such as the one that an earlier stack has
    kept (its output `fileSystem`); default none. Jobs see its folder /shared (AWS Backup restores
    into a folder of its own, out of which it must be moved first). It must have no mount targets in
    another VPC. Key and throughput stay what they are, its policy becomes the one of this stack,
    and it stays when the stack goes."""
    mount_cidrs: tuple[IPv4Network, ...] = ()
    """Address blocks outside the VPC from which development boxes may mount the file system, by a
    VPN or a peering; default none: only nodes may. With any, the stack output `mount` is the
    command."""
    mount_security_groups: tuple[SecurityGroupId, ...] = ()
    """Security groups of development boxes that may mount the file system; default none. Of this
    VPC, or of one that is peered with it in the same region and account."""
    bucket: Flag = False
    """An S3 bucket for data sets and checkpoints, mounted by jobs as the claim `bucket`; default
    false. Bytes at rest cost a thirteenth of EFS and traffic nothing, but each opening of a file
    does: pack small files into large ones (docs/cost.md). Files are written once, from start to
    end, and cannot be renamed."""
    bucket_cache_gib: Annotated[Whole, Field(ge=1, le=10_000)] = 50
    """GiB of a node's disk in which it keeps what it has read from the bucket; default 50, which
    fits beside an image on the default disk. A data set that fits is read from S3 once a node."""


class Images(Section):
    """The container images, always referenced by digest."""

    build: Flag = True
    """Build both images from this repository and push them to ECR (needs Docker where the program
    runs); default true."""
    training: Digest | None = None
    """With `build: false`: the training image."""
    controller: Digest | None = None
    """With `build: false`: the controller image."""
    training_base: str | None = None
    """Base of the training image; default is the one named in training-image/Dockerfile."""
    controller_base: str | None = None
    """Base of the controller image; default is the one named in controller-image/Dockerfile."""


class AwsObservability(Observability):
    """Metrics, logs and messages; each on request."""

    logs: Flag = False
    """Send the output of every container to CloudWatch; default false. Billed by the GB, about
    $0.50; `kubectl logs` and what jobs keep under output/ need none of it."""
    log_days: LogDays = 30
    """Days that container logs are kept; default 30."""
    notify: tuple[Email, ...] = ()
    """Who is told, by SNS, of finished, failed and stalled jobs and of a reached budget; default
    nobody. Needs `metrics`, as Alertmanager decides. Each address must confirm a first e-mail."""


class Budget(Section):
    """A monthly limit that AWS watches; nothing is stopped, people are told."""

    usd_per_month: Annotated[float, Field(gt=0, le=10_000_000)]
    """Dollars a month; messages at 50, 80 and 100 %, and when the forecast passes 100 %."""
    emails: Annotated[tuple[Email, ...], Field(min_length=1, max_length=10)]
    """Who is told; at least one."""
    scope: Literal["account", "stack"] = "account"
    """`account` (default) counts the whole account. `stack` counts what carries this stack's tag,
    and counts nothing until `stack` is activated as a cost-allocation tag (docs/cost.md)."""


class AwsSettings(PlatformSettings):
    """Everything a person may set in a stack file of AWS."""

    cloud: Literal["aws"]
    """The cloud to build on: aws."""
    region: str
    """Region of the cloud, such as us-east-1. No default: it decides price, latency and law."""
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    """Availability zones, at least two; spot capacity differs by zone, so more zones find more of
    it. The first two hold the control plane's addresses and stay as long as the cluster; a single
    NAT gateway stands in the first. Others may come and go, and nothing else moves. Leave out the
    zones whose ids are use1-az3, usw1-az2 and cac1-az3 (`aws ec2 describe-availability-zones` shows
    which letter they have in your account): EKS and many services are not there."""
    network: Network
    """The VPC and who may reach the cluster."""
    cluster: Cluster = Cluster()
    """The control plane."""
    managers: Managers = Managers()
    """The on-demand nodes of the cluster's own services."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """The GPU pools; at least one."""
    autoscaler: Autoscaler = Autoscaler()
    """When nodes come and go."""
    storage: Storage = Storage()
    """The shared file system, and a bucket on request."""
    images: Images = Images()
    """Training and controller image."""
    observability: AwsObservability = AwsObservability()
    """Metrics, logs and messages, on request."""
    budget: Budget | None = None
    """A monthly limit of which people are told; default none."""
