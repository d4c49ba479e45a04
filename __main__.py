"""The stack, as a table of contents: a cloud, and on it the platform, the same on every cloud.

What a stack file may say: stacks/schema.py. What a cloud is made of: components/<cloud>/cloud.py.
"""

import pulumi

from components.platform.archive import Archive, ArchiveArgs, ArchiveKeeping
from components.platform.elastic_jobs import ElasticJobs, ElasticJobsArgs
from components.platform.job_namespace import JobNamespace, JobNamespaceArgs
from components.platform.observability import Observability, ObservabilityArgs
from components.platform.prices import Prices, PricesArgs
from components.platform.researchers import Researchers, ResearchersArgs
from components.platform.shared_volumes import SharedVolumes, SharedVolumesArgs
from stacks import schema
from stacks.clouds import support

# 1. Settings: read once, refused with a reason
settings = schema.load()
tags = {"project": pulumi.get_project(), "stack": pulumi.get_stack()}
selected = support(settings.cloud)
for warning in selected.warnings(settings):
    pulumi.log.warn(warning)

# 2. Cloud: network, cluster, nodes, storage, images
cloud = selected.build(settings, tags)

# 3. Job namespace: where researchers' jobs run, and what holds for every pod in it
jobs = JobNamespace(
    "jobs",
    JobNamespaceArgs(
        name=settings.jobs.namespace,
        gpu_quota=settings.jobs.gpu_quota,
        egress=settings.jobs.egress,
        cloud=cloud,
    ),
)

# 4. Shared volumes: data/ and output/ for every job
volumes = SharedVolumes(
    "shared",
    SharedVolumesArgs(
        namespace=jobs.name,
        volumes=(*cloud.volumes, cloud.archive),
        image=cloud.images.controller,
        kubernetes=cloud.kubernetes,
        after=cloud.ready,
    ),
)

# 5. Elastic jobs: the resource definition, the controller and its coordinator
platform = ElasticJobs(
    "elastic-jobs",
    ElasticJobsArgs(
        job_namespace=jobs.name,
        max_gpus_per_researcher=settings.jobs.max_gpus_per_researcher,
        pools=cloud.pools,
        terms=cloud.terms,
        image=cloud.images.controller,
        training_image=cloud.images.training,
        kubernetes=cloud.kubernetes,
        after=(*cloud.ready, *jobs.ready),
    ),
)

# 6. Archive: what jobs did and printed, kept past their pods and nodes
Archive(
    "archive",
    ArchiveArgs(
        namespace=jobs.name,
        shared=cloud.volumes[0],
        archive=cloud.archive,
        keeping=ArchiveKeeping(**settings.archive.model_dump()),
        image=cloud.images.controller,
        kubernetes=cloud.kubernetes,
        after=(*cloud.ready, *platform.system, *volumes.ready),
    ),
)

# 7. Researchers: what the people who run jobs may do
Researchers(
    "researchers",
    ResearchersArgs(
        job_namespace=jobs.name,
        people=cloud.researchers,
        kubernetes=cloud.kubernetes,
        after=platform.system,
    ),
)

# 8. Prices: what spot nodes cost today, where the cloud tells
Prices("prices", PricesArgs(cloud=cloud, after=platform.system))

# 9. Observability: metrics, dashboards and alerts, on request
watch = Observability("watch", ObservabilityArgs(wanted=settings.observability, cloud=cloud))

# 10. Outputs: what a person, or a script, needs next
images = {"trainingImage": cloud.images.training, "controllerImage": cloud.images.controller}
for name, value in {"jobNamespace": jobs.name, **images, **cloud.outputs, **watch.outputs}.items():
    pulumi.export(name, value)
