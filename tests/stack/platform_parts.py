"""The platform's components, each made alone, with one dull default for every argument."""

from collections.abc import Callable
from typing import Any

import pulumi_kubernetes as k8s

from components.cloud import Cloud, ImageReferences, NfsVolume, Person, Pool, Terms, Volume
from components.platform.archive import Archive, ArchiveArgs
from components.platform.archive_pod import ArchiveKeeping
from components.platform.elastic_jobs import ElasticJobs, ElasticJobsArgs
from components.platform.job_namespace import JobNamespace, JobNamespaceArgs
from components.platform.job_network import Egress
from components.platform.researchers import Researchers, ResearchersArgs
from components.platform.system_network import SystemNetwork, SystemNetworkArgs
from spotrain import contract
from stacks.recorder import Recording, record

JOBS = "jobs"
"""The job namespace; tests/controller/builders.py has its jobs in it."""
IMAGE = "example/controller@sha256:" + "0" * 64
TRAINING_IMAGE = "example/training@sha256:" + "1" * 64

ARCHIVE_VOLUME = Volume(
    claim=contract.ARCHIVE_CLAIM,
    source=NfsVolume(server="files.example", path="/archive"),
    mount=contract.ARCHIVE_MOUNT,
)


def pool(**changes: Any) -> Pool:
    values: dict[str, Any] = {
        "name": "t4",
        "gpu": "t4",
        "gpus_per_node": 1,
        "capacity": "spot",
        "zones": ("a", "b"),
        "instance_types": ("g4dn.xlarge",),
        "max_nodes": 8,
        "notice_seconds": 90,
        "spot_usd_per_hour": 0.2,
        "on_demand_usd_per_hour": 0.5,
    }
    return Pool(**values | changes)


def cloud(kubernetes: k8s.Provider, **changes: Any) -> Cloud:
    """A cloud that has one pool, and next to nothing else."""
    values: dict[str, Any] = {
        "pools": (pool(),),
        "volumes": (),
        "archive": ARCHIVE_VOLUME,
        "metrics_disk": None,
        "alert_receiver": None,
        "prices": None,
        "job_credentials": None,
        "researchers": (),
        "images": ImageReferences(training=TRAINING_IMAGE, controller=IMAGE),
        "ready": (),
        "outputs": {},
    }
    return Cloud(kubernetes=kubernetes, **values | changes)


def made(component: Callable[[k8s.Provider], object]) -> Recording:
    """What a component registers when it is the whole program."""

    def program() -> None:
        component(k8s.Provider("kube"))

    return record(program, project="spotrain", stack="test", config={})


def job_namespace(
    *, egress: Egress = "https", gpu_quota: int | None = None, **changes: Any
) -> Recording:
    """`changes`: of the cloud."""

    def component(kube: k8s.Provider) -> None:
        args = JobNamespaceArgs(
            name=JOBS, gpu_quota=gpu_quota, egress=egress, cloud=cloud(kube, **changes)
        )
        JobNamespace("jobs", args)

    return made(component)


def system_network() -> Recording:
    return made(
        lambda kube: SystemNetwork(
            "system", SystemNetworkArgs(job_namespace=JOBS, kubernetes=kube, after=())
        )
    )


def elastic_jobs(max_gpus_per_researcher: int | None = None) -> Recording:
    return made(
        lambda kube: ElasticJobs(
            "elastic-jobs",
            ElasticJobsArgs(
                job_namespace=JOBS,
                pools=[pool()],
                terms=Terms(idle_minutes=10),
                image=IMAGE,
                training_image=TRAINING_IMAGE,
                max_gpus_per_researcher=max_gpus_per_researcher,
                kubernetes=kube,
                after=(),
            ),
        )
    )


def archive() -> Recording:
    shared = Volume(
        claim=contract.VOLUME_CLAIM,
        source=NfsVolume(server="files.example", path="/shared"),
        mount=contract.VOLUME_MOUNT,
    )
    return made(
        lambda kube: Archive(
            "archive",
            ArchiveArgs(
                namespace=JOBS,
                shared=shared,
                archive=ARCHIVE_VOLUME,
                keeping=ArchiveKeeping(log_days=7, logs_gib=3, ledger_days=None),
                image=IMAGE,
                kubernetes=kube,
                after=(),
            ),
        )
    )


def researchers(*people: Person) -> Recording:
    return made(
        lambda kube: Researchers(
            "researchers",
            ResearchersArgs(job_namespace=JOBS, people=people, kubernetes=kube, after=()),
        )
    )
