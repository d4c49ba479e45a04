"""The settings of a stack on AWS. What no single field can know is in rules.py."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.aws import arns
from stacks.aws.cluster_schema import Autoscaler, Cluster, Managers, Pool
from stacks.aws.network_schema import LogDays, Network
from stacks.platform_schema import Observability, PlatformSettings
from stacks.section import Amount, Block, Digest, Email, Flag, Meant, Section, Whole, words

SecurityGroupId = Annotated[
    str,
    Field(
        pattern=r"^sg-[0-9a-f]{8,17}$",
        json_schema_extra=words("the id of a security group, like sg-0123456789abcdef0"),
    ),
    Meant(arns.security_group),
]
AccountId = Annotated[
    str,
    Field(
        pattern=r"^\d{12}$",
        json_schema_extra=words(
            "the 12 digits of an AWS account, in quotes",
            "write what `aws sts get-caller-identity --query Account` prints, with its quotes: "
            'account: "123456789012"',
        ),
    ),
]
FileSystemArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws:elasticfilesystem:[a-z0-9-]+:\d{12}:file-system/fs-[0-9a-f]{8,40}$",
        json_schema_extra=words("the ARN of an EFS file system"),
    ),
    Meant(arns.file_system),
]


class Storage(Section):
    """The shared file system (EFS) with data/ and output/, and a bucket beside it."""

    throughput: Literal["bursting", "elastic"] = "bursting"
    """`bursting` (default: paid with the stored bytes) or `elastic` (fast at any size, about $0.03
    per GB read and $0.06 per GB written). Bursting lets each GiB that is stored be written at
    50 KiB/s or read at 150 KiB/s, and more for some hours a day. docs/stack-cost.md works an
    example out. In both, files that nobody read for 30 days go to EFS's Infrequent Access class,
    and come back when they are read (docs/data.md)."""
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
    mount_cidrs: tuple[Block, ...] = ()
    """Address blocks outside the VPC from which development boxes may mount the file system, by a
    VPN or a peering; default none: only nodes may. With any, the stack output `mount` is the
    command."""
    mount_security_groups: tuple[SecurityGroupId, ...] = ()
    """Security groups of development boxes that may mount the file system; default none. Of this
    VPC, or of one that is peered with it in the same region and account."""
    bucket: Flag = False
    """An S3 bucket for data sets and checkpoints, mounted by jobs as the claim `bucket`, and
    written directly by those whose output is s3://<bucket>/output/...; default false. Bytes at
    rest cost a thirteenth of EFS and traffic nothing, but each opening of a file does: pack small
    files into large ones (docs/stack-cost.md). Files in the mount are written once, from start to
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
    """Who is told, by SNS, of finished, failed, stalled and waiting jobs, of broken GPUs and of
    a controller that is down; default nobody. Needs `metrics`, as Alertmanager decides. Each
    address must confirm a first e-mail. What is spent is told by `budget`."""


class Budget(Section):
    """A monthly limit that AWS watches; nothing is stopped, people are told."""

    usd_per_month: Annotated[Amount, Field(gt=0, le=10_000_000)]
    """Dollars a month; messages at 50, 80 and 100 %, and when the forecast passes 100 %."""
    emails: Annotated[tuple[Email, ...], Field(min_length=1, max_length=10)]
    """Who is told; at least one."""
    scope: Literal["account", "stack"] = "account"
    """`account` (default) counts the whole account. `stack` counts what carries this stack's tag,
    and counts nothing until `stack` is activated as a cost-allocation tag (docs/stack-cost.md)."""


class AwsSettings(PlatformSettings):
    """Everything a person may set in a stack file of AWS."""

    cloud: Literal["aws"]
    """The cloud to build on: aws."""
    account: AccountId | None = None
    """Number of the AWS account, in quotes; default none: the account of whoever runs the program.
    With it, credentials of another account (a forgotten AWS_PROFILE) are refused before anything is
    made."""
    region: str
    """Region of the cloud, such as us-east-1. No default: it decides price, latency and law."""
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    """Availability zones, at least two; spot capacity differs by zone, so more zones find more of
    it. The first two hold the control plane's addresses and the managers, and stay as long as the
    cluster; a single NAT gateway stands in the first. Others may come and go, and no node in
    another zone is replaced. Leave out the zones whose ids are use1-az3, usw1-az2 and cac1-az3
    (`aws ec2 describe-availability-zones` shows which letter they have in your account): EKS and
    many services are not there."""
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
    drills: Flag = False
    """A role with which AWS's Fault Injection Service takes back spot nodes of this cluster, when
    somebody asks for it by `spotrain drill --real` (docs/operations.md); default false. The stack
    output `drillRole` names it. Costs nothing but the drills: $0.10 a minute of one."""
