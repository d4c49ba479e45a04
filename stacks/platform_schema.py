"""The settings that every cloud has: they concern the platform, which knows no cloud."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.section import Flag, Name, Section, Whole


class Jobs(Section):
    """Where researchers' jobs run, and what they may use."""

    namespace: Name = "elastic-job"
    """Namespace of the jobs and of the volume claims; default elastic-job, as in TorchElastic's own
    documentation, so that its commands work unchanged."""
    gpu_quota: Annotated[Whole, Field(ge=0)] | None = None
    """Most GPUs that all jobs together may ask for; default: all that the pools can have. A lower
    number is a limit on the bill that no job gets around."""
    egress: Literal["https", "all", "none"] = "https"
    """Where the pods of jobs may connect to, beside their siblings, DNS and the coordinator:
    `https` (default; port 443 outside the cluster's own network, for data sets and experiment
    trackers), `all` or `none`. The shared volume and image pulls are the node's traffic: they work
    in any case."""


class Observability(Section):
    """Metrics of the cluster and of the jobs; off unless asked for, as it costs a node's room."""

    metrics: Flag = False
    """Prometheus, Alertmanager and Grafana with the dashboards and alert rules of k8s/, and GPU
    metrics of every GPU node; default false. Needs about 1 vCPU and 3 GiB on the managers."""
    metrics_days: Annotated[Whole, Field(ge=1, le=400)] = 15
    """Days that Prometheus keeps metrics; default 15."""
    metrics_disk_gib: Annotated[Whole, Field(ge=5, le=1000)] = 20
    """Disk of Prometheus in GiB; default 20. What comes first, days or disk, drops the oldest."""


class PlatformSettings(Section):
    """What a stack file says on any cloud."""

    cloud: str
    """The cloud to build on. No default: it decides what else may be set."""
    jobs: Jobs = Jobs()
    """The namespace of the jobs, and its limits."""
    observability: Observability = Observability()
    """Metrics, on request."""
