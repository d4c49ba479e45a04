"""What the pools have, what of it is free, and what it costs: pure, of the cluster's objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from spotrain import contract
from spotrain.job import PRICE_HOURS, Pool, Price, gpus_of
from spotrain.kinds import Object

OVER: Final = ("Succeeded", "Failed")
"""Phases of pods that hold nothing."""


@dataclass(frozen=True, kw_only=True)
class PoolView:
    pool: Pool
    gpus: int
    """Of nodes that are there and ready."""
    free: int
    """Of these, what no pod of the jobs' namespace has."""
    usd_now: float
    """Of one GPU and hour in the cheapest zone; of a node, where nodes have none."""
    usd_list: float
    is_told: bool
    """Has the cloud told the price lately, or is it that of when the platform was built?"""

    @property
    def most(self) -> int:
        """GPUs of the pool in all of its zones, fully grown."""
        return self.pool.gpus_per_node * self.pool.max_nodes * len(self.pool.zones)

    def summary(self) -> Object:
        """What `-o json` and `-o yaml` write."""
        return {
            "gpu": self.pool.gpu,
            "pool": self.pool.name,
            "capacity": self.pool.capacity,
            "zones": list(self.pool.zones),
            "gpusPerNode": self.pool.gpus_per_node,
            "gpus": self.gpus,
            "free": self.free,
            "most": self.most,
            "mostInOneZone": self.pool.gpus_per_node * self.pool.max_nodes,
            "usdPerGpuHour": self.usd_now,
            "listUsdPerGpuHour": self.usd_list,
            "isToldPrice": self.is_told,
        }


def view_pools(
    pools: Sequence[Pool],
    prices: Sequence[Price],
    *,
    nodes: Sequence[Object],
    pods: Sequence[Object],
    now: datetime,
) -> list[PoolView]:
    """One for each pool, by GPU and then by price."""
    fresh = told_lately(prices, now)
    seen = [_view(pool, fresh, nodes, pods) for pool in pools]
    return sorted(seen, key=lambda each: (each.pool.gpu, each.usd_now))


def told_lately(prices: Sequence[Price], now: datetime) -> list[Price]:
    """Those that still count."""
    return [price for price in prices if now - price.at <= timedelta(hours=PRICE_HOURS)]


def usd_per_gpu_hour(pool: Pool, prices: Sequence[Price]) -> float:
    """In the cheapest zone, by what was told lately; of a node, where nodes have no GPUs."""
    told = [price.spot_usd_per_hour for price in prices if price.pool == pool.name]
    if told and pool.capacity == contract.CAPACITY_SPOT:
        return min(told) / max(pool.gpus_per_node, 1)
    return pool.usd_per_gpu_hour


def _view(
    pool: Pool, prices: Sequence[Price], nodes: Sequence[Object], pods: Sequence[Object]
) -> PoolView:
    own = {
        node["metadata"]["name"]: _gpus_of_node(node)
        for node in nodes
        if (node["metadata"].get("labels") or {}).get(contract.LABEL_POOL) == pool.name
        and _is_ready(node)
    }
    taken = sum(
        sum(gpus_of(container) for container in pod["spec"]["containers"])
        for pod in pods
        if pod["spec"].get("nodeName") in own and pod.get("status", {}).get("phase") not in OVER
    )
    is_told = any(price.pool == pool.name for price in prices)
    is_spot = pool.capacity == contract.CAPACITY_SPOT
    return PoolView(
        pool=pool,
        gpus=sum(own.values()),
        free=max(0, sum(own.values()) - taken),
        usd_now=usd_per_gpu_hour(pool, prices),
        usd_list=pool.on_demand_usd_per_hour / max(pool.gpus_per_node, 1),
        is_told=is_told or not is_spot,
    )


def _gpus_of_node(node: Mapping[str, Any]) -> int:
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return int(allocatable.get(contract.GPU_RESOURCE, 0))


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("unschedulable")
