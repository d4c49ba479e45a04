"""The settings of a stack on Google Cloud. What no single field can know is in rules.py."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.gcp.cluster_schema import Autoscaler, Cluster, Managers, Pool
from stacks.gcp.network_schema import Network
from stacks.platform_schema import Observability, PlatformSettings
from stacks.section import Amount, Digest, Email, Flag, Section, Whole, words

ProjectId = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$",
        json_schema_extra=words(
            "the id of a project: 6 to 30 lower-case letters, digits and '-', a letter first",
            "write what `gcloud config get-value project` prints; it is the id, not the name",
        ),
    ),
]
BillingAccount = Annotated[
    str,
    Field(
        pattern=r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$",
        json_schema_extra=words(
            "the id of a billing account, like 012345-6789AB-CDEF01",
            "write what `gcloud billing projects describe <project>` prints as billingAccountName",
        ),
    ),
]


BYTE = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
Address = Annotated[
    str,
    Field(
        pattern=rf"^({BYTE}\.){{3}}{BYTE}$",
        json_schema_extra=words(
            "an IPv4 address, like 10.0.0.2", "the driver takes no name: write the server's address"
        ),
    ),
]


class FileServer(Section):
    """An NFS server in a network that nodes reach."""

    address: Address
    """Its address; the driver that mounts it takes no name."""
    path: Annotated[
        str,
        Field(
            pattern=r"^/[^\s/]\S*$",
            json_schema_extra=words(
                "a path below /, like /vol1", "write the folder that the server exports, not /"
            ),
        ),
    ]
    """Exported folder; the stack makes folders `shared` and `archive` in it, as root."""


class Storage(Section):
    """The shared file system (Filestore) with data/ and output/, and a bucket beside it."""

    tier: Literal["basic-hdd", "basic-ssd", "zonal", "regional"] = "basic-hdd"
    """Filestore's tier: `basic-hdd` (default; 100 MB/s, $0.16 per GiB-month, from 100 GiB),
    `basic-ssd` ($0.30, from 2,560 GiB), `zonal` (faster with its size, $0.25, from 1,024 GiB) or
    `regional` (in three zones, $0.45, from 1,024 GiB). A change makes an empty one: copy what is on
    the old one first."""
    size_gib: Annotated[Whole, Field(ge=100, le=102_400)] = 100
    """Size in GiB; default 100, the smallest that there is, for checkpoints, code and logs: large
    data sets belong into the bucket. `zonal` and `regional` are sold up to 9,984 in steps of 256,
    and from 10,240 in steps of 2,560; one never grows past 9,984. It is billed whether it is used
    or not, and only grows."""
    retain: Flag = False
    """Keep file system and bucket when the stack is destroyed; default false: ALL OF IT IS DELETED
    WITH THE STACK. Says what the last `pulumi up` said: a change needs one before the destroy, and
    makes nothing anew. What was kept is billed. A file system stays in its network, which is kept
    with it; docs/gcp.md says how to get at it."""
    server: FileServer | None = None
    """An NFS server to use instead of a new Filestore; default none. It stays when the stack goes.
    """
    bucket: Flag = False
    """A bucket of Cloud Storage for data sets and checkpoints, mounted by jobs as the claim
    `bucket`, and written directly by those whose output is gs://<bucket>/output/...; default
    false. Bytes at rest cost an eighth of Filestore. A job that mounts it must say so in its
    template, by the annotation `gke-gcsfuse/volumes: "true"`; one that writes directly need not.
    Files in the mount are written once, from start to end."""


class Images(Section):
    """The container images, always referenced by digest."""

    build: Flag = True
    """Build both images from this repository and push them to Artifact Registry (needs Docker where
    the program runs); default true."""
    training: Digest | None = None
    """With `build: false`: the training image."""
    controller: Digest | None = None
    """With `build: false`: the controller image."""
    training_base: str | None = None
    """Base of the training image; default is the one named in training-image/Dockerfile."""
    controller_base: str | None = None
    """Base of the controller image; default is the one named in controller-image/Dockerfile."""
    scan: Flag = False
    """Look for known vulnerabilities in every image that is pushed; default false. Artifact
    Analysis bills $0.26 an image."""


class GcpObservability(Observability):
    """Metrics and logs; each on request."""

    logs: Flag = False
    """Send the output of every container to Cloud Logging; default false. Billed by the GB, about
    $0.50; `kubectl logs` and what jobs keep under output/ need none of it."""


class Budget(Section):
    """A monthly limit that Google watches; nothing is stopped, people are told."""

    billing_account: BillingAccount
    """The billing account that pays for the project; whoever runs the program must be allowed to
    make budgets there."""
    usd_per_month: Annotated[Amount, Field(gt=0, le=10_000_000)]
    """Dollars a month; messages at 50, 80 and 100 %, and when the forecast passes 100 %. The
    billing account must be in dollars."""
    emails: Annotated[tuple[Email, ...], Field(min_length=1, max_length=5)]
    """Who is told; at least one."""
    scope: Literal["project", "stack"] = "project"
    """`project` (default) counts the whole project. `stack` counts what carries this stack's label.
    """


class GcpSettings(PlatformSettings):
    """Everything a person may set in a stack file of Google Cloud."""

    cloud: Literal["gcp"]
    """The cloud to build on: gcp."""
    project: ProjectId
    """Id of the project. No default: it decides who pays, and what gcloud is set to changes with
    whatever somebody did last."""
    region: str
    """Region of the cloud, such as us-central1. No default: it decides price, latency and law."""
    zones: Annotated[tuple[str, ...], Field(min_length=2)]
    """Zones, such as us-central1-a, at least two; spot capacity differs by zone, so more zones find
    more of it. The first two hold the managers. The first holds the control plane (if zonal) and
    the file system (unless regional), and stays as long as they do; others may come and go. Not
    every zone has every GPU: stacks/gcp/gpus.yaml knows."""
    network: Network
    """The VPC network and who may reach the cluster."""
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
    observability: GcpObservability = GcpObservability()
    """Metrics and logs, on request."""
    budget: Budget | None = None
    """A monthly limit of which people are told; default none."""
