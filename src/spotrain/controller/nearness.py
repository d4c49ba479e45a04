"""Workers of a job that asked for no place: in one zone all the same, where the scheduler can.

A job with a place is pinned to its zone. Without one nobody knows which zone has nodes, so this is
a wish and no rule: it never keeps a worker from a node, and the first worker finds no sibling to
wait for.
"""

from typing import Any, Final

from spotrain import contract
from spotrain.controller.network import labels
from spotrain.job import ElasticJob

WEIGHT: Final = 100
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def keep_near(spec: dict[str, Any], job: ElasticJob) -> None:
    """Add the wish to a pod's spec, beside whatever affinity its author has given it."""
    if job.placement.zone == "any":
        return
    affinity = dict(spec.get("affinity") or {})
    siblings = dict(affinity.get("podAffinity") or {})
    wish = {
        "weight": WEIGHT,
        "podAffinityTerm": {
            "topologyKey": contract.LABEL_ZONE,
            "labelSelector": {"matchLabels": labels(job)},
        },
    }
    siblings[PREFERRED] = [*(siblings.get(PREFERRED) or []), wish]
    spec["affinity"] = {**affinity, "podAffinity": siblings}
