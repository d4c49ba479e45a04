"""Workers made of a spec that is no longer the job's: they are renewed, all at once.

The API server lets a template change only while the job is suspended, when there are no workers.
But a suspension that is taken back at once may never be seen, and pods of the old template would
train beside new ones. With torch's own rendezvous each agent keeps the limits that it was started
with, so new limits need new workers too; the coordinator takes them without.
"""

import hashlib
import json
from typing import Final

from spotrain import contract
from spotrain.controller.model import DeletePod, Observed
from spotrain.job import ElasticJob

MADE_OF_ANNOTATION: Final = f"{contract.DOMAIN}/made-of"


def made_of(job: ElasticJob) -> str:
    """A digest of what the user has written that a worker is made of. Nothing that only this
    controller adds is in it: a new version of it must not restart every job."""
    limits = [job.min_replicas, job.max_replicas] if job.rdzv_endpoint else []
    parts = [job.template, job.restart_policy, job.rdzv_endpoint, limits]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_outdated(job: ElasticJob, observed: Observed) -> tuple[DeletePod, ...]:
    """Pods without a digest are of an older version of this controller, and stay."""
    current = made_of(job)
    return tuple(
        DeletePod(pod.name, pod.uid, None, "Outdated")
        for pod in observed.pods
        if pod.made_of not in ("", current) and not pod.deleting and pod.phase != "Succeeded"
    )


def is_renewed(job: ElasticJob, observed: Observed) -> bool:
    """Are there outdated workers that were not seen before?"""
    counted = observed.status.counted_pods
    return any(removal.uid not in counted for removal in find_outdated(job, observed))
