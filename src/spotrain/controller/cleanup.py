"""What remains of a job that has ended: which pods stay, for how long, and the job itself.

`cleanPodPolicy` says what becomes of finished pods, which cost nothing and hold the logs. Pods
that still run hold GPUs, so none of them outlives the job for long whatever the policy says.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from spotrain.controller.completion import (
    BACKOFF_LIMIT_EXCEEDED,
    DEADLINE_EXCEEDED,
    MIN_REPLICAS_TIMEOUT,
)
from spotrain.controller.model import DeleteJob, DeletePod, PodView, earliest
from spotrain.job import ElasticJob

EXIT_SECONDS: Final = 300
"""Workers of a finished world leave by themselves; torch's own exit barrier waits this long."""
OUTRIGHT: Final = frozenset({BACKOFF_LIMIT_EXCEEDED, DEADLINE_EXCEEDED, MIN_REPLICAS_TIMEOUT})
"""Ends that the workers do not know of: waiting for them to leave would be waiting for ever."""


@dataclass(frozen=True)
class Cleanup:
    actions: tuple[DeletePod | DeleteJob, ...] = ()
    look_again: datetime | None = None


def clean_up(
    job: ElasticJob,
    pods: tuple[PodView, ...],
    *,
    reason: str,
    ended_at: datetime,
    now: datetime,
) -> Cleanup:
    """What to remove of a job that ended at `ended_at` for `reason`, and when to look again."""
    expires_at = _after(ended_at, job.run_policy.ttl_seconds_after_finished)
    if expires_at and expires_at <= now:
        return Cleanup(actions=(DeleteJob(),))
    leave_by = ended_at if reason in OUTRIGHT else ended_at + timedelta(seconds=EXIT_SECONDS)
    here = [pod for pod in pods if not pod.deleting]
    running = [pod for pod in here if pod.phase == "Running"]
    pending = [pod for pod in here if pod.phase == "Pending"]
    finished = [pod for pod in here if pod.phase in ("Succeeded", "Failed")]
    leftovers = pending + (running if leave_by <= now else [])
    if job.run_policy.clean_pod_policy == "All":
        leftovers += finished
    return Cleanup(
        actions=tuple(DeletePod(pod.name, pod.uid, None, "JobFinished") for pod in leftovers),
        look_again=earliest(expires_at, leave_by if running and leave_by > now else None),
    )


def _after(moment: datetime, seconds: int | None) -> datetime | None:
    return None if seconds is None else moment + timedelta(seconds=seconds)
