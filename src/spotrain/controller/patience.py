"""How long a job waits with fewer workers than it needs.

Waiting costs nothing, so by default it has no end. Where somebody waits for an answer,
`minReplicasTimeoutSeconds` gives one.
"""

from datetime import datetime, timedelta

from spotrain.controller.status import RUNNING, JobStatus
from spotrain.job import ElasticJob


def patience_ends(job: ElasticJob, status: JobStatus) -> datetime | None:
    """When the job has been below minReplicas for too long; None: it is not, or may wait.

    The clock starts when the job does, is resumed, or has lost the worker that it needs.
    """
    seconds = job.elastic.min_replicas_timeout_seconds
    running = status.condition(RUNNING)
    if seconds is None or job.suspend or status.start_time is None:
        return None
    if running is None or running.status == "True":
        return None
    below_since = max(status.start_time, running.last_transition_time or status.start_time)
    return below_since + timedelta(seconds=seconds)
