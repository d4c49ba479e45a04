"""An ElasticJob as people write it: fields, types, limits and defaults, each with its meaning.

k8s/crd.yaml says the same to the API server; a test compares the two.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from spotrain import contract
from spotrain.job.documents import DNS_LABEL, Name, Section

MAX_REPLICAS: Final = 1000
"""Guards the API server against a slip of the keyboard; the longest pod name counts it too."""
CleanPodPolicy = Literal["All", "Running", "None"]
RestartPolicy = Literal["Always", "OnFailure", "Never", "ExitCode"]
CapacityPolicy = Literal["spotThenOnDemand", "spot", "onDemand"]
SuccessPolicy = Literal["AnyWorker", "AllWorkers"]
Count = Annotated[int, Field(ge=1, le=MAX_REPLICAS)]
ExitCode = Annotated[int, Field(ge=128, le=255)]


class Placement(Section):
    """Where the job may run."""

    gpu: Name | None = None
    """GPU type of the nodes, as the pools name it: t4, a10g, l4"""
    pools: Annotated[tuple[Name, ...], Strict(False)] = ()
    """names of the pools that may be used; empty: all"""
    capacity: CapacityPolicy = "spotThenOnDemand"
    """which capacity to buy, and in which order"""
    zone: Literal["same", "any"] = "same"
    """same: all workers in one zone, since traffic between zones is slow and costs"""
    move_after_seconds: Annotated[int, Field(ge=1)] = 600
    """seconds with fewer than minReplicas workers after which the job tries another place"""


class Elastic(Section):
    """How the number of workers changes."""

    allowed_replicas: Annotated[tuple[Count, ...], Strict(False)] = ()
    """sizes that a world may have, where the model allows only some; empty: every size"""
    growth_delay_seconds: Annotated[int, Field(ge=0)] = 30
    """seconds to wait for further newcomers before the world grows"""
    progress_deadline_seconds: Annotated[int, Field(ge=0)] = 900
    """seconds without a finished step after which the world is restarted; 0: never"""
    first_step_deadline_seconds: Annotated[int, Field(ge=0)] = 3600
    """the same for the job's first step, ahead of which it may download and compile; 0: never"""
    min_replicas_timeout_seconds: Annotated[int, Field(ge=1)] | None = None
    """seconds with fewer than minReplicas ready workers after which the job fails; absent: never"""


class Budget(Section):
    """What the job may cost."""

    max_dollars: Annotated[float, Field(gt=0)] | None = None
    """dollars that the job may cost, by estimate, before it saves and is suspended; absent: no
    limit"""


class Sweep(Section):
    """How the jobs with one value of the label spotrain.dev/sweep share the nodes."""

    at_most: Annotated[int, Field(ge=1)] | None = None
    """jobs of the sweep that hold nodes at once, this one included; absent: any number"""


class SchedulingPolicy(Section):
    """Its presence asks for a gang of minReplicas, whatever upstream's field in it says."""

    min_available: int | None = None


class RunPolicy(Section):
    """When a job ends and what is cleaned up. Absent fields have the defaults named here."""

    clean_pod_policy: CleanPodPolicy = "None"
    """which pods are removed when the job has ended: All, Running, or None (finished ones stay)"""
    ttl_seconds_after_finished: Annotated[int, Field(ge=0)] | None = None
    """seconds after its end at which the job itself is deleted; absent: never"""
    active_deadline_seconds: Annotated[int, Field(ge=1)] | None = None
    """seconds after its start at which the job fails; absent: never"""
    backoff_limit: Annotated[int, Field(ge=0)] = 6
    """failures of the training itself, not of nodes, that are tried again"""
    scheduling_policy: SchedulingPolicy | None = None


class Worker(Section):
    replicas: Count = 1
    """workers wanted now, between minReplicas and maxReplicas"""
    restart_policy: RestartPolicy = "ExitCode"
    """ExitCode replaces a worker that a signal ended; Never forgives no failure of the training"""
    template: dict[str, Any]
    """the pod of a worker, as in a Kubernetes Job"""


class ReplicaSpecs(Section):
    worker: Annotated[Worker, Field(alias=contract.WORKER)]
    """the one kind of replica"""


class Spec(RunPolicy):
    """The spec as written. It inherits the run policy: that is its flat spelling."""

    rdzv_endpoint: str = ""
    """host:port of an external rendezvous; empty: the coordinator"""
    min_replicas: Count | None = None
    """workers below which the job waits"""
    max_replicas: Count | None = None
    """workers above which the job never grows"""
    suspend: bool = False
    """true: the job gives its nodes back and waits"""
    success_policy: SuccessPolicy = "AnyWorker"
    """whose success is the job's: AnyWorker, the first one's; AllWorkers, everybody's"""
    disruption_exit_codes: Annotated[tuple[ExitCode, ...], Strict(False)] = ()
    """exit codes from 128 that mean a worker was taken away, besides 130, 137, 138 and 143"""
    pod_disruption_budget: bool = False
    """true: evictions that would leave fewer than minReplicas workers are refused"""
    managed_by: str = ""
    """who reconciles the job; empty: spotrain"""
    placement: Placement = Placement()
    elastic: Elastic = Elastic()
    budget: Budget = Budget()
    sweep: Sweep = Sweep()
    replica_specs: ReplicaSpecs
    """the workers"""
    upper_run_policy: Annotated[RunPolicy | None, Field(alias="RunPolicy")] = None
    run_policy: RunPolicy | None = None


class Metadata(BaseModel):
    """The API server owns metadata, so its many other fields pass unread."""

    model_config = ConfigDict(frozen=True, strict=True, use_attribute_docstrings=True)
    name: Annotated[str, Field(pattern=DNS_LABEL)]
    """pods are named after the job: lower-case letters, digits and '-'"""
    namespace: Name = "default"
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}


class Document(Section):
    api_version: Literal["elastic.pytorch.org/v1alpha1"]
    kind: Literal["ElasticJob"]
    metadata: Metadata
    spec: Spec
    status: Any = None
