"""Prometheus, Alertmanager and Grafana, with our dashboards and alert rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s
import pulumi_random as random

from components.cloud import Disk
from components.manifest import FOLDER, Manifest, ManifestArgs
from components.platform import metrics_values
from components.platform.metrics_values import MetricsShape
from components.platform.shared_volumes import mounted
from spotrain import contract

DASHBOARDS = FOLDER / "dashboards"
INSTALL_SECONDS = 900
"""A new disk, and half a dozen images on nodes that do not have them."""


@dataclass(frozen=True, kw_only=True)
class MetricsStackArgs:
    shape: MetricsShape
    disk: Disk | None
    """Where Prometheus keeps its metrics, if `shape.own_disk`."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """Nodes."""


class MetricsStack(pulumi.ComponentResource):
    """The release of a chart, and what is ours: the password, dashboards, monitors, alert rules.

    Monitors and rules are of kinds that come with the release, so they are made after it and
    removed before it. The namespace goes after them, once the claim of Prometheus' disk is gone;
    the volume last, once its driver has let go of the disk.
    """

    def __init__(
        self, name: str, args: MetricsStackArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:MetricsStack", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        disk = [self._volume(args.disk)] if args.disk else []
        namespace = self._namespace(disk)
        inside = pulumi.ResourceOptions.merge(
            self._child, pulumi.ResourceOptions(depends_on=[namespace])
        )
        password = self._password(inside)
        for file in dashboard_files():
            self._dashboard(file, inside)
        release = self._release([namespace, password])
        provided = pulumi.ResourceOptions(parent=self, providers=[args.kubernetes])
        for kind in ("monitors", "alerts"):
            manifest = ManifestArgs(file=f"{kind}.yaml", after=[release])
            Manifest(f"{name}-{kind}", manifest, provided)
        self.register_outputs({})

    def _volume(self, disk: Disk) -> k8s.core.v1.PersistentVolume:
        zone = k8s.core.v1.NodeSelectorRequirementArgs(
            key=contract.LABEL_ZONE, operator="In", values=[disk.zone]
        )
        term = k8s.core.v1.NodeSelectorTermArgs(match_expressions=[zone])
        required = k8s.core.v1.NodeSelectorArgs(node_selector_terms=[term])
        return k8s.core.v1.PersistentVolume(
            f"{self._name}-disk",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=metrics_values.DISK),
            spec=k8s.core.v1.PersistentVolumeSpecArgs(
                capacity={"storage": f"{disk.size_gib}Gi"},
                access_modes=["ReadWriteOnce"],
                persistent_volume_reclaim_policy="Retain",  # the disk is the stack's to remove
                storage_class_name="",
                node_affinity=k8s.core.v1.VolumeNodeAffinityArgs(required=required),
                **mounted(disk.source),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=list(disk.ready))
            ),
        )

    def _namespace(self, disk: Sequence[pulumi.Resource]) -> k8s.core.v1.Namespace:
        """Whatever runs here does without a right over its node."""
        security = "pod-security.kubernetes.io"
        return k8s.core.v1.Namespace(
            f"{self._name}-namespace",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=contract.MONITORING_NAMESPACE, labels={f"{security}/enforce": "restricted"}
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(depends_on=[*self._args.after, *disk])
            ),
        )

    def _password(self, opts: pulumi.ResourceOptions) -> k8s.core.v1.Secret:
        password = random.RandomPassword(
            f"{self._name}-password",
            length=24,
            special=False,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return k8s.core.v1.Secret(
            f"{self._name}-password",
            metadata=_metadata(metrics_values.ADMIN_SECRET),
            string_data={"admin-user": "admin", "admin-password": password.result},
            opts=opts,
        )

    def _dashboard(self, file: Path, opts: pulumi.ResourceOptions) -> None:
        k8s.core.v1.ConfigMap(
            f"{self._name}-dashboard-{file.stem}",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=f"dashboard-{file.stem}",
                namespace=contract.MONITORING_NAMESPACE,
                labels={metrics_values.DASHBOARD_LABEL: "1"},
            ),
            data={file.name: file.read_text()},
            opts=opts,
        )

    def _release(self, after: Sequence[pulumi.Resource]) -> k8s.helm.v3.Release:
        receiver = self._args.shape.receiver
        # An Alertmanager that starts before its identity exists never gets one.
        identity = receiver.ready if receiver else ()
        return k8s.helm.v3.Release(
            f"{self._name}-release",
            name=metrics_values.RELEASE,
            chart=metrics_values.CHART,
            version=metrics_values.VERSION,
            repository_opts=k8s.helm.v3.RepositoryOptsArgs(repo=metrics_values.REPOSITORY),
            namespace=contract.MONITORING_NAMESPACE,
            values=metrics_values.chart_values(self._args.shape),
            timeout=INSTALL_SECONDS,
            opts=pulumi.ResourceOptions.merge(
                self._child,
                pulumi.ResourceOptions(depends_on=[*after, *identity, *self._args.after]),
            ),
        )


def _metadata(name: str) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=contract.MONITORING_NAMESPACE)


def dashboard_files() -> list[Path]:
    """Every dashboard in k8s/dashboards."""
    return sorted(DASHBOARDS.glob("*.json"))
