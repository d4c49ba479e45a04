"""How much all jobs together may ask for, from what the pools can have.

Kubernetes judges a quota before it judges priorities. One quota for all would keep an important job
out while lesser ones fill it, and nobody would ever give way. So each class has a quota of its own,
as large as the pools: what runs at once is limited by the nodes, and which of it by priority.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi_kubernetes as k8s

from components.cloud import Pool
from spotrain import contract

GPUS = f"requests.{contract.GPU_RESOURCE}"
JOBS = f"count/{contract.PLURAL}.{contract.GROUP}"
FEWEST_PODS = 50
FEWEST_JOBS = 500
JOBS_PER_PLACE = 10
"""Finished jobs count until somebody, or their time to live, removes them."""
SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")


@dataclass(frozen=True, kw_only=True)
class Quota:
    """Amounts, of the pods whose priority class is, or is not, one of these; else of all."""

    hard: Mapping[str, int]
    operator: Literal["In", "NotIn"] = "In"
    classes: tuple[str, ...] = ()

    def spec(self) -> k8s.core.v1.ResourceQuotaSpecArgs:
        scope = k8s.core.v1.ScopedResourceSelectorRequirementArgs(
            scope_name="PriorityClass", operator=self.operator, values=list(self.classes)
        )
        selector = k8s.core.v1.ScopeSelectorArgs(match_expressions=[scope])
        return k8s.core.v1.ResourceQuotaSpecArgs(
            hard={resource: str(amount) for resource, amount in self.hard.items()},
            scope_selector=selector if self.classes else None,
        )


def gpus(pools: Sequence[Pool]) -> int:
    """All GPUs that the pools can have at once."""
    return sum(pool.max_nodes * len(pool.zones) * pool.gpus_per_node for pool in pools)


def places(pools: Sequence[Pool]) -> int:
    """Workers that fit at once: one a GPU, or one a node without."""
    return sum(pool.max_nodes * len(pool.zones) * max(pool.gpus_per_node, 1) for pool in pools)


def quotas(pools: Sequence[Pool], gpu_quota: int | None) -> Mapping[str, Quota]:
    """Name -> quota. `gpu_quota` limits all classes together."""
    low, high = contract.PRIORITY_LOW, contract.PRIORITY_HIGH
    room = places(pools)
    total = {JOBS: max(FEWEST_JOBS, JOBS_PER_PLACE * room)}
    if gpu_quota is not None:
        total[GPUS] = gpu_quota
    # Twice the places: pods of one job may still be on their way out when the next one starts.
    each = {GPUS: gpus(pools), "pods": max(FEWEST_PODS, 2 * room)}
    return {
        "spotrain-jobs": Quota(hard=total),
        low: Quota(hard=each, classes=(low,)),
        contract.PRIORITY_NORMAL: Quota(hard=each, operator="NotIn", classes=(low, high)),
        high: Quota(hard=each, classes=(high,)),
        # Kubernetes lets every pod name these, and one that does drives out whatever it wants.
        "spotrain-system-classes": Quota(hard={"pods": 0}, classes=SYSTEM_CLASSES),
    }
