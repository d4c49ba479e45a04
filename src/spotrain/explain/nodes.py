"""Nodes of the job's place that cannot take a worker yet."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.controller.model import NodeView
from spotrain.controller.presence import ARRIVAL_MINUTES, is_at
from spotrain.explain import google
from spotrain.explain.cause import Cause, Gravity, clock
from spotrain.explain.moves import next_move
from spotrain.explain.situation import Case, offer_of

PLUGIN: Final = "kubectl -n kube-system get pods -l app.kubernetes.io/name=nvidia-device-plugin"


def find_coming_nodes(case: Case) -> Iterator[Cause]:
    """Nodes of the job's place that cannot take a worker yet."""
    offer = offer_of(case.seen, case.pools, case.prices, case.now)
    if offer is None or not case.homeless:
        return
    for node in case.nodes:
        if not is_at(node, offer) or node.created_at is None or node.silent_since:
            continue
        broken = case.now - node.created_at >= timedelta(minutes=ARRIVAL_MINUTES)
        if not node.ready:
            yield _booting(case, node, node.created_at, broken=broken)
        elif offer.pool.gpus_per_node and not node.gpus:
            yield _without_gpus(case, node, node.created_at, broken=broken)


def _booting(case: Case, node: NodeView, since: datetime, *, broken: bool) -> Cause:
    if broken:
        return Cause(
            reason="NodeNotComingUp",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"The node {node.name} has been there since {clock(since)} and has not become "
            f"ready in {ARRIVAL_MINUTES} minutes: it counts as broken, and costs money."
            f"{next_move(case)}",
            command=f"kubectl describe node {node.name}",
        )
    return Cause(
        reason="NodeBooting",
        gravity=case.unless_it_trains(Gravity.COMING),
        said=f"The node {node.name} has been booting since {clock(since)}.",
        command=f"spotrain status {case.name}",
    )


def _without_gpus(case: Case, node: NodeView, since: datetime, *, broken: bool) -> Cause:
    if broken:
        return Cause(
            reason="GpuPluginNotReady",
            gravity=case.unless_it_trains(Gravity.BLOCKED),
            said=f"The node {node.name} is ready, but offers no {contract.GPU_RESOURCE} since "
            f"{clock(since)}: its device plugin or its driver has failed. An administrator finds "
            "the reason in the plugin's log.",
            command=google.PLUGIN if google.is_on_google(case) else PLUGIN,
        )
    return Cause(
        reason="GpuPluginStarting",
        gravity=case.unless_it_trains(Gravity.COMING),
        said=f"The node {node.name} is ready; its GPUs count as soon as the device plugin has "
        "started on it.",
        command=f"spotrain status {case.name}",
    )
