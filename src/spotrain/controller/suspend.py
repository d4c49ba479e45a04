"""A suspended job gives its nodes back, after its workers have saved."""

from spotrain.controller.model import DeletePod, Observed
from spotrain.controller.status import SUSPENDED
from spotrain.job import ElasticJob
from spotrain.next_command import next_command


def suspend(observed: Observed) -> tuple[DeletePod, ...]:
    """Every worker leaves in its own grace period, so that it can save."""
    return tuple(
        DeletePod(pod.name, pod.uid, None, "Suspended") for pod in observed.pods if not pod.deleting
    )


def resumption(job: ElasticJob, observed: Observed, *options: str) -> str:
    """What is to be typed to go on."""
    return next_command("resume", job.name, *options, local=observed.coordinator.local)


def is_resuming(job: ElasticJob, observed: Observed) -> bool:
    """Was the job suspended until now?"""
    return not job.suspend and observed.status.is_true(SUSPENDED)
