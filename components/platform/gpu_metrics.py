"""What GPUs do: NVIDIA's exporter on every GPU node."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.manifest import Manifest, ManifestArgs


@dataclass(frozen=True, kw_only=True)
class GpuMetricsArgs:
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]


class GpuMetrics(pulumi.ComponentResource):
    """A DaemonSet as plain YAML rather than NVIDIA's chart, whose exporter may administer the node
    for counters that no dashboard here shows."""

    def __init__(
        self, name: str, args: GpuMetricsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:GpuMetrics", name, {}, opts)
        Manifest(
            f"{name}-exporter",
            ManifestArgs(file="gpu-metrics.yaml", after=args.after),
            pulumi.ResourceOptions(parent=self, providers=[args.kubernetes]),
        )
        self.register_outputs({})
