"""What a PromQL query reads: metrics and labels, by a real parser."""

from dataclasses import replace
from datetime import UTC, datetime

import promql_parser

from spotrain.controller.meters import Meters
from spotrain.controller.metrics import JobFacts, job_families
from spotrain.controller.model import JobStatus
from spotrain.controller.status import (
    Condition,
    OfferStatus,
    Progress,
    Restarts,
    Stall,
    WorldStatus,
)
from tests.controller.builders import job, pod, pool, world
from tests.controller.ledger_example import ACCOUNT, SUMS, WORLD

OURS = "spotrain_"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
EXPORTERS = {
    "kube-state-metrics": {
        "kube_node_labels",
        "kube_node_spec_unschedulable",
        "kube_node_status_allocatable",
        "kube_pod_container_resource_requests",
        "kube_pod_status_phase",
    },
    "node-exporter": {
        "node_cpu_seconds_total",
        "node_memory_MemAvailable_bytes",
        "node_memory_MemTotal_bytes",
    },
    "kubelet": {"container_memory_working_set_bytes"},
    "cluster-autoscaler": {
        "cluster_autoscaler_failed_scale_ups_total",
        "cluster_autoscaler_nodes_count",
        "cluster_autoscaler_unschedulable_pods_count",
    },
    "Prometheus itself": {"up"},
}
"""Who provides what is not ours, and not of the GPUs (k8s/gpu-metrics.yaml)."""


def metrics_of(query: str) -> set[str]:
    """The names of the metrics that a query reads. Raises ValueError: it is no PromQL."""
    found: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.add(str(node.name))

    promql_parser.walk(promql_parser.parse(query), pre_visit=visit)
    return found


def known_job() -> JobFacts:
    """A job of which everything is known that the controller itself finds out.

    What it hands on for other writers (`JobStatus.others`) is empty: a metric that is read off that
    has no sample here, and so may be neither watched nor shown.
    """
    running = Condition("Running", "True", last_transition_time=NOW)
    status = JobStatus(
        conditions=(running,),
        start_time=NOW,
        completion_time=NOW,
        offer=OfferStatus(pool="t4-spot", zone="a", since=NOW),
        world=WorldStatus(number=1, size=1, since=NOW, step=1),
        progress=Progress(step=1, at=NOW),
        restarts=Restarts(),
        last_stall=Stall(world=1, step=1, at=NOW),
        history=(WORLD,),
        ledger=replace(
            ACCOUNT, totals=replace(SUMS, wanted_seconds=9, useful_seconds=8, list_usd=7)
        ),
    )
    return JobFacts(
        namespace="jobs",
        name="digits",
        job=job(budget={"maxDollars": 20}),
        status=status,
        pods=(pod(0),),
        world=world(),
        reports_steps=True,
        pool=pool(),
    )


def our_metrics() -> set[str]:
    """Every name under which the controller's page has samples."""
    own = {
        family.name + suffix
        for family in Meters().registry.collect()
        for suffix in SUFFIXES.get(family.type, ("",))
    }
    jobs = {sample.name for family in job_families([known_job()], NOW) for sample in family.samples}
    return {name for name in own | jobs if name.startswith(OURS)}
