"""The settings that every cloud has: they concern the platform, which knows no cloud."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.section import Flag, Name, Section, Whole


class Jobs(Section):
    """Where researchers' jobs run, and what they may use."""

    namespace: Name = "elastic-job"
    """Namespace of the jobs and of the volume claims; default elastic-job, as in TorchElastic's own
    documentation, so that its commands work unchanged."""
    gpu_quota: Annotated[
        Whole | None,
        Field(
            ge=0,
            json_schema_extra={"next": "leave it out for no limit, or set it to a whole number"},
        ),
    ] = None
    """Most GPUs that all jobs together may ask for; default: no limit but the pools. Each priority
    class may then ask for all that the pools can have, so an important job is let in and takes the
    place of lesser ones. A number here is a limit on the bill that no job gets around; once it is
    reached even an important job waits, as Kubernetes judges quotas before priorities."""
    max_gpus_per_researcher: Annotated[
        Whole | None,
        Field(
            ge=1,
            json_schema_extra={"next": "leave it out for no limit, or set it to a whole number"},
        ),
    ] = None
    """Most GPUs that the jobs of one researcher hold together, by the job's label
    `spotrain.dev/researcher`; default: no limit. A job that would pass it waits, or runs with fewer
    workers. It keeps colleagues apart, not strangers: whoever submits a job chooses its label."""
    egress: Literal["https", "all", "none"] = "https"
    """Where the pods of jobs may connect to, beside their siblings, DNS and the coordinator.
    `https` (default; port 443 of public IPv4 addresses, for data sets and experiment trackers),
    `all` (private addresses and every port too, for a tracker or database of your own) or `none`.
    Never the node's metadata. The shared volume and image pulls are the node's traffic: they work
    in any case. Policies add up: one of your own can open a single private address."""


class Observability(Section):
    """Metrics of the cluster and of the jobs; off unless asked for, as it costs a node's room."""

    metrics: Flag = False
    """Prometheus, Alertmanager and Grafana with the dashboards and alert rules of k8s/, and GPU
    metrics of every GPU node; default false. Asks for 0.5 vCPU and 2.3 GiB on the managers,
    on AWS for 0.1 vCPU and 0.5 GiB more (docs/observability.md)."""
    metrics_days: Annotated[Whole, Field(ge=1, le=400)] = 15
    """Days that Prometheus keeps metrics; default 15."""
    metrics_disk_gib: Annotated[Whole, Field(ge=5, le=1000)] = 20
    """Disk of Prometheus in GiB; default 20. What comes first, days or disk, drops the oldest."""


class Archive(Section):
    """How long the archive keeps what jobs did and printed (docs/archive.md)."""

    log_days: Annotated[Whole, Field(ge=1, le=3650)] = 30
    """Days after a job's end for which its logs are kept; default 30."""
    logs_gib: Annotated[Whole, Field(ge=1, le=10_000)] = 10
    """Most GiB of all logs together; default 10. Beyond it those of the job that ended first go
    before their time. A job may have half a GiB, and one that has not ended keeps it."""
    ledger_days: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=36_500,
            json_schema_extra={"next": "leave it out for no limit, or set it to a whole number"},
        ),
    ] = None
    """Days for which the ledger of a job is kept after its object was deleted, and that of a node
    after it went; default: for ever, as some kB a job are all it takes. What is gone costs nothing
    in `spotrain cost`."""


class PlatformSettings(Section):
    """What a stack file says on any cloud."""

    cloud: str
    """The cloud to build on. No default: it decides what else may be set."""
    jobs: Jobs = Jobs()
    """The namespace of the jobs, and its limits."""
    archive: Archive = Archive()
    """How long ledgers and logs are kept."""
    observability: Observability = Observability()
    """Metrics, on request."""
