"""The settings of a stack: one strict schema for the one key `spotrain:settings`.

The only reader of pulumi.Config. What no single field can know is in rules.py.
"""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

import pulumi
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spotrain import contract
from stacks import rules
from stacks.field_problems import from_pydantic
from stacks.problems import UNSET, Problem, SettingsError

KEY = "settings"
NAMESPACE = "spotrain"


def _words(rule: str, next_step: str | None = None) -> dict[str, Any]:
    """What an error says instead of pydantic's own words."""
    return {"rule": rule, **({"next": next_step} if next_step else {})}


Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]{0,28}[a-z0-9]$",
        json_schema_extra=_words("2 to 30 lower-case letters, digits and '-', a letter first"),
    ),
]
Digest = Annotated[
    str,
    Field(
        pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$",
        json_schema_extra=_words("an image reference that ends in @sha256:<64 hex digits>"),
    ),
]
RoleArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+$")]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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
    admins: Annotated[
        tuple[RoleArn, ...], Field(json_schema_extra=_words("the ARN of an IAM role or user"))
    ] = ()
    """IAM roles or users with full rights in the cluster, beside the one that creates it;
    default none."""
    log_types: tuple[
        Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...
    ] = ("audit", "authenticator")
    """Control-plane logs sent to CloudWatch, billed by the GB; default audit and authenticator:
    who did what, without the volume of `api`."""
    deletion_protection: bool = False
    """Refuse to delete the cluster; default false. With it a destroy takes two steps: set it to
    false and `pulumi up`, then `pulumi destroy`."""
    addon_versions: dict[Name, str] = {}
    """Add-on -> version. Default none: EKS picks its default for the Kubernetes version when it
    installs an add-on, and changes it never again by itself."""


class Managers(Section):
    """On-demand nodes for the controller and the cluster's own services."""

    instance_types: Annotated[tuple[str, ...], Field(min_length=1)] = ("m7i.large",)
    """Instance types, the preferred one first; default m7i.large (2 vCPU, 8 GiB)."""
    min_nodes: Annotated[int, Field(ge=1, le=20)] = 2
    """Fewest nodes; default 2, one in each of two zones, so that losing one stops nothing."""
    max_nodes: Annotated[int, Field(ge=1, le=20)] = 4
    """Most nodes; default 4: room for a rolling update and for add-ons on request."""
    disk_gib: Annotated[int, Field(ge=20, le=1000)] = 50
    """Root disk in GiB; default 50, for images and logs."""


class Pool(Section):
    """A kind of GPU node: one node group per zone, none running until a job needs them."""

    name: Name
    """Name of the pool in node groups, labels and job placement. Renaming replaces the nodes."""
    gpu: str
    """GPU model as a job asks for it: t4, a10g, l4, a100, h100. Checked against the types."""
    gpus_per_node: Annotated[int, Field(ge=1, le=16)]
    """GPUs of one node. The autoscaler is told this number while no node exists."""
    capacity: Literal["spot", "on-demand"] = contract.CAPACITY_SPOT
    """`spot` (default: cheap, taken back at two minutes' notice) or `on-demand`."""
    instance_types: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    """Instance types with the same GPU, smallest first: the autoscaler models the first only. More
    types mean more spot capacity."""
    zones: tuple[str, ...] = ()
    """Zones of the pool; default all zones of the stack. Each zone is one node group, as a job's
    workers stay in one zone."""
    max_nodes: Annotated[int, Field(ge=1, le=100)]
    """Most nodes in one zone; the limit on what a mistake can cost."""
    disk_gib: Annotated[int, Field(ge=50, le=4000)] = 100
    """Root disk in GiB; default 100: a CUDA training image unpacks to 10 to 20 GiB."""


class Storage(Section):
    """The shared file system (EFS) with data/ and output/."""

    throughput: Literal["bursting", "elastic"] = "bursting"
    """`bursting` (default: paid with the stored bytes, 50 KiB/s per GiB plus bursts) or `elastic`
    (fast at any size, about $0.03 per GB read and $0.06 per GB written)."""
    backup: bool = False
    """Daily backups by AWS Backup; default false, as data sets usually have a source elsewhere."""
    retain: bool = False
    """Keep file system and key when the stack is destroyed; default false."""
    mount_cidrs: tuple[IPv4Network, ...] = ()
    """Address blocks of development boxes that may mount it; default none: only nodes may."""


class Images(Section):
    """The container images, always referenced by digest."""

    build: bool = True
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


class Jobs(Section):
    """Where researchers' jobs run."""

    namespace: Name = "elastic-job"
    """Namespace of the jobs and of the volume claim; default elastic-job, as in TorchElastic's own
    documentation, so that its commands work unchanged."""


class Settings(Section):
    """Everything a person may set in a stack file."""

    cloud: Literal["aws"] = "aws"
    """The cloud to build on; default aws, the only one so far."""
    region: str
    """Region of the cloud, such as us-east-1. No default: it decides price, latency and law."""
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    """Availability zones, at least two (EKS asks for two); spot capacity differs by zone, so more
    zones find more of it."""
    network: Network
    """The VPC and who may reach the cluster."""
    cluster: Cluster = Cluster()
    """The control plane."""
    managers: Managers = Managers()
    """The on-demand nodes of the cluster's own services."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """The GPU pools; at least one."""
    storage: Storage = Storage()
    """The shared file system."""
    images: Images = Images()
    """Training and controller image."""
    jobs: Jobs = Jobs()
    """The namespace of the jobs."""


def parse(document: object, *, source: str) -> Settings:
    """The settings in a document, or every problem with it at once."""
    if document is None:
        raise SettingsError(source, [missing_settings(source)])
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise SettingsError(source, from_pydantic(error, Settings)) from None
    if problems := list(rules.problems(settings)):
        raise SettingsError(source, problems)
    return settings


def load() -> Settings:
    """The settings of the stack that Pulumi runs."""
    source = f"stacks/Pulumi.{pulumi.get_stack()}.yaml"
    return parse(pulumi.Config(NAMESPACE).get_object(KEY), source=source)


def missing_settings(source: str) -> Problem:
    """The stack file says nothing."""
    return Problem(
        path=f"config.{NAMESPACE}:{KEY}",
        value=UNSET,
        rule="required; it holds every setting of the stack",
        reason="there is nothing to build without a region, zones and pools",
        next_step=f"copy the key from stacks/Pulumi.dev.yaml to {source} and edit it",
    )
