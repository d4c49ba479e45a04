"""What a PromQL query reads: metrics and labels, by a real parser."""

from datetime import UTC, datetime

import promql_parser

from spotrain.controller.meters import Meters
from spotrain.controller.metrics import job_families

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


def our_metrics() -> set[str]:
    """Every name under which the controller's page has samples."""
    names: set[str] = set()
    for family in (*Meters().registry.collect(), *job_families([], NOW)):
        names |= {family.name + suffix for suffix in SUFFIXES.get(family.type, ("",))}
    return {name for name in names if name.startswith(OURS)}
