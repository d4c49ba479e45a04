"""What people see of the cluster and of their jobs, if they asked for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pulumi

from components.cloud import Cloud
from components.platform.gpu_metrics import GpuMetrics, GpuMetricsArgs
from components.platform.metrics_stack import MetricsStack, MetricsStackArgs
from components.platform.metrics_values import RELEASE, MetricsShape
from spotrain import contract


class Wanted(Protocol):
    """What a stack file says of metrics, on any cloud."""

    @property
    def metrics(self) -> bool: ...
    @property
    def metrics_days(self) -> int: ...
    @property
    def metrics_disk_gib(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class ObservabilityArgs:
    wanted: Wanted
    cloud: Cloud


class Observability(pulumi.ComponentResource):
    """Metrics, dashboards and alerts; nothing at all unless asked for."""

    outputs: Mapping[str, str]
    """How a person opens them."""

    def __init__(
        self, name: str, args: ObservabilityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Observability", name, {}, opts)
        self.outputs = {}
        if args.wanted.metrics:
            self._metrics(args)
        self.register_outputs({})

    def _metrics(self, args: ObservabilityArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        cloud = args.cloud
        shape = MetricsShape(
            days=args.wanted.metrics_days,
            disk_gib=args.wanted.metrics_disk_gib,
            own_disk=cloud.metrics_disk is not None,
            receiver=cloud.alert_receiver,
        )
        stack = MetricsStackArgs(
            shape=shape, disk=cloud.metrics_disk, kubernetes=cloud.kubernetes, after=cloud.ready
        )
        MetricsStack("metrics", stack, child)
        if any(pool.gpus_per_node for pool in cloud.pools):
            exporter = GpuMetricsArgs(kubernetes=cloud.kubernetes, after=cloud.ready)
            GpuMetrics("gpu-metrics", exporter, child)
        namespace = contract.MONITORING_NAMESPACE
        self.outputs = {
            "grafana": f"kubectl -n {namespace} port-forward svc/{RELEASE}-grafana 3000:80"
        }
