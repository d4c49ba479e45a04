"""Nodes that have announced their end: their workers leave before they are made to.

Most notices reach a worker by itself, as an eviction. Some only mark the node: the termination
handler of a cloud without the drain, an autoscaler about to remove it, a person. Waiting would
spend the notice. Whatever taints the node keeps the replacement off it.

A cordon alone is no notice: in Kubernetes it says that running pods may finish where they are.
They are first to go when the job shrinks, and nothing more.
"""

from collections.abc import Mapping
from typing import Any, Final

from spotrain import contract
from spotrain.controller.model import NodeView, Observed, PodView, Taint
from spotrain.job import ElasticJob

KEEPS_OFF: Final = ("NoSchedule", "NoExecute")


def find_notices(job: ElasticJob, observed: Observed) -> tuple[tuple[PodView, Taint], ...]:
    """Workers on nodes about to go, each with the taint that says so.

    A worker whose template tolerates the taint was told to stay, and its replacement could come to
    the same node again.
    """
    nodes = {node.name: node for node in observed.nodes}
    found = []
    for pod in observed.pods:
        node = nodes.get(pod.node or "")
        if node is None or pod.deleting or pod.phase not in ("Pending", "Running"):
            continue
        notice = _notice(node)
        if notice and not _is_tolerated(job, notice):
            found.append((pod, notice))
    return tuple(found)


def _notice(node: NodeView) -> Taint | None:
    return next((taint for taint in node.taints if _announces_the_end(taint)), None)


def _announces_the_end(taint: Taint) -> bool:
    is_known = taint.key in contract.NOTICE_TAINTS or taint.key.startswith(contract.NOTICE_PREFIXES)
    return is_known and taint.effect in KEEPS_OFF


def _is_tolerated(job: ElasticJob, taint: Taint) -> bool:
    tolerations = job.template["spec"].get("tolerations") or []
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """As the scheduler reads it."""
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.key)
    return (toleration.get("key"), toleration.get("value") or "") == (taint.key, taint.value)
