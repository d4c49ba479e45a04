"""Checks of a Google Cloud project: who asks, and what it may have where the pools want it."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from spotrain.clouds.answers import Refused
from spotrain.clouds.project import LOG_IN, Project
from spotrain.doctor.answered import check_image, check_sold, told
from spotrain.doctor.finding import Finding, fail, passed
from spotrain.doctor.gpu_quotas import check_all_regions, check_quotas
from spotrain.doctor.machine_quotas import check_all_vcpus, check_disks, check_vcpus
from spotrain.doctor.node_pools import check_node_pools
from spotrain.job import Pool

_ask: Final = partial(told, cloud="Google Cloud", naming="--project")


def check_project(project: Project, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Everything that a project can be asked. Nobody logged in: that alone is told."""
    rented = [pool for pool in pools if pool.instance_types]
    if isinstance(project.quotas, Refused) and project.quotas.is_logged_out:
        refused = project.quotas
        said = f"Google Cloud does not know you: {refused.code}: {refused.message.rstrip('.')}."
        yield fail("cloud credentials", said, LOG_IN)
        return
    yield passed("cloud credentials", f"project {project.id}, region {project.region}.")
    yield from _ask(
        "GPU quotas",
        project.quotas,
        "compute.regions.get (roles/compute.viewer)",
        lambda quotas: check_quotas(quotas, rented, project),
    )
    yield from _ask(
        "quotas of all regions",
        project.all_regions,
        "compute.projects.get (roles/compute.viewer)",
        lambda quotas: check_all_regions(quotas, rented, project),
    )
    yield from _types(project, rented)
    if not isinstance(project.all_regions, Refused):
        yield from check_all_vcpus(project.all_regions, rented, project)
    if not isinstance(project.quotas, Refused):
        yield from check_vcpus(project.quotas, rented, project)
        if not isinstance(project.node_pools, Refused):
            yield from check_disks(project.quotas, project.node_pools, project)
    yield from _ask(
        "node pools",
        project.node_pools,
        "container.clusters.list (roles/container.clusterViewer)",
        lambda found: check_node_pools(found, rented),
    )
    for reference, answer in project.images.items():
        right = "artifactregistry.dockerimages.get (roles/artifactregistry.reader)"
        yield from _ask("image", answer, right, partial(check_image, reference))


def _types(project: Project, pools: Sequence[Pool]) -> Iterator[Finding]:
    for pool in pools:
        for zone in pool.zones:
            check = f"machine types of {pool.name}, {zone}"
            answers = [project.types.get((each, zone), 0) for each in pool.instance_types]
            refused = next((each for each in answers if isinstance(each, Refused)), None)
            if refused is not None:
                right = "compute.machineTypes.get (roles/compute.viewer)"
                yield from _ask(check, refused, right, lambda _: iter(()))
                continue
            missing = [
                type for type, vcpus in zip(pool.instance_types, answers, strict=True) if not vcpus
            ]
            yield check_sold(check, zone, missing, of=len(pool.instance_types))
