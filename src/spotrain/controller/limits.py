"""What a job allows its worlds, in the coordinator's words."""

from spotrain import worlds
from spotrain.controller.failure import limit
from spotrain.job import ElasticJob


def limits_of(job: ElasticJob) -> worlds.Limits:
    """The coordinator forms worlds within these; the controller makes the pods for them."""
    return worlds.Limits(
        min_size=job.min_replicas,
        max_size=job.max_replicas,
        desired_size=job.replicas,
        allowed_sizes=tuple(job.elastic.allowed_replicas),
        growth_delay_seconds=float(job.elastic.growth_delay_seconds),
        max_restarts=limit(job),
    )
