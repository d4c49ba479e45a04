"""A job's PodDisruptionBudget: drains that can wait do, rather than stop the training.

Off by default: the drain of a node that is about to be reclaimed must not wait, since its end
comes all the same and the notice would pass unused.
"""

from typing import Any

from spotrain.controller.model import (
    ApplyDisruptionBudget,
    DeleteDisruptionBudget,
    Observed,
)
from spotrain.controller.network import labels, metadata
from spotrain.job import ElasticJob

Change = ApplyDisruptionBudget | DeleteDisruptionBudget


def keep_budget(job: ElasticJob, observed: Observed, *, trains: bool) -> tuple[Change, ...]:
    """What brings the budget to what the job asks for; nothing, if it is that already."""
    there = observed.disruption_budget
    if job.pod_disruption_budget and trains:
        is_right = there is not None and there.min_available == job.min_replicas
        return () if is_right else (ApplyDisruptionBudget(build_disruption_budget(job)),)
    return (DeleteDisruptionBudget(job.name, there.uid),) if there else ()


def build_disruption_budget(job: ElasticJob) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(job),
        "spec": {
            "minAvailable": job.min_replicas,
            "selector": {"matchLabels": labels(job)},
            # A worker that is not ready trains nothing that an eviction could cost.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
