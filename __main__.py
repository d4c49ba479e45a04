"""The stack, as a table of contents.

Settings come from stacks/Pulumi.<stack>.yaml (their meaning: stacks/schema.py). What a cloud is
made of stands in components/<cloud>/cloud.py; the platform on top is the same on every cloud.
"""

import pulumi

from components.platform.elastic_jobs import ElasticJobs, ElasticJobsArgs
from components.platform.job_namespace import JobNamespace, JobNamespaceArgs
from components.platform.shared_volume import SharedVolume, SharedVolumeArgs
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

# 3. Job namespace: where researchers' jobs run, and the controller's rights in it
jobs = JobNamespace(
    "jobs", JobNamespaceArgs(name=settings.jobs.namespace, kubernetes=cloud.kubernetes)
)

# 4. Shared volume: data/ and output/ for every job
SharedVolume(
    "shared",
    SharedVolumeArgs(
        namespace=jobs.name,
        volume=cloud.volumes[0],
        image=cloud.images.controller,
        kubernetes=cloud.kubernetes,
        after=cloud.ready,
    ),
)

# 5. Elastic jobs: the resource definition, the controller and its coordinator
ElasticJobs(
    "elastic-jobs",
    ElasticJobsArgs(
        job_namespace=jobs.name,
        pools=cloud.pools,
        image=cloud.images.controller,
        kubernetes=cloud.kubernetes,
        after=(*cloud.ready, *jobs.ready),
    ),
)

# 6. Outputs: what a person, or a script, needs next
pulumi.export("jobNamespace", jobs.name)
pulumi.export("trainingImage", cloud.images.training)
for name, value in cloud.outputs.items():
    pulumi.export(name, value)
