"""What the chart kube-prometheus-stack is told. Pure.

Chosen against its defaults: no metrics of a control plane that somebody else runs, no admission
webhook (alert rules are checked before they are deployed), no ingress, no right of Grafana outside
its own namespace, and a disk that goes with the release.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.cloud import AlertReceiver
from components.platform.alert_routes import alert_config
from spotrain import contract

CHART = "kube-prometheus-stack"
REPOSITORY = "https://prometheus-community.github.io/helm-charts"
VERSION = "88.5.3"
"""Of 2026-08; with Prometheus 3.14, Alertmanager 0.34 and Grafana 13.2."""
RELEASE = "metrics"
"""Its name and the beginning of every name in it, as people forward ports to them."""
ADMIN_SECRET = "grafana-admin"
DASHBOARD_LABEL = "grafana_dashboard"
DISK = f"{RELEASE}-prometheus"
"""The volume that a cloud's own disk becomes."""
DISK_SHARE = 0.85
"""Of the disk that the stored metrics may take; the rest is for the log ahead of them."""
EXPORTER_NAMESPACE = "kube-system"
"""What looks into nodes needs host access, which the namespace of everything else refuses."""
_MANAGER = {"key": contract.LABEL_ROLE, "operator": "In", "values": [contract.ROLE_MANAGER]}
MANAGERS_FIRST = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [_MANAGER]}}
        ]
    }
}
"""A preference, as a cluster that was there before has no such nodes."""
MANAGED_ELSEWHERE = (
    "etcd",
    "kubeApiserverAvailability",
    "kubeApiserverBurnrate",
    "kubeApiserverHistogram",
    "kubeApiserverSlos",
    "kubeControllerManager",
    "kubeProxy",
    "kubeSchedulerAlerting",
    "kubeSchedulerRecording",
    "windows",
)
"""Rules about what is not scraped."""
NODE_LABELS = (contract.LABEL_POOL, contract.LABEL_CAPACITY, contract.LABEL_GPU)
"""By which the dashboards count nodes."""


@dataclass(frozen=True, kw_only=True)
class MetricsShape:
    """What a stack file and its cloud decide about metrics."""

    days: int
    """After which metrics are dropped."""
    disk_gib: int
    own_disk: bool
    """Whether Prometheus has the volume `DISK`; if not, the cluster's default class makes one."""
    receiver: AlertReceiver | None
    """None: alerts are shown, and nobody is told."""


@dataclass(frozen=True)
class Room:
    """What a container asks for, and the memory at which it ends."""

    cpu: str
    memory: str
    most_memory: str

    def resources(self) -> dict[str, Any]:
        return {
            "requests": {"cpu": self.cpu, "memory": self.memory},
            "limits": {"memory": self.most_memory},
        }


PROMETHEUS = Room("300m", "1536Mi", "3Gi")
GRAFANA = Room("100m", "256Mi", "512Mi")
ALERTMANAGER = Room("20m", "64Mi", "128Mi")
OPERATOR = Room("50m", "128Mi", "256Mi")
STATE_METRICS = Room("20m", "96Mi", "256Mi")
NODE_EXPORTER = Room("20m", "32Mi", "64Mi")
SIDECAR = Room("10m", "96Mi", "192Mi")
RELOADER = Room("10m", "32Mi", "64Mi")


def chart_values(shape: MetricsShape) -> dict[str, Any]:
    """All values that differ from the chart's own."""
    return {
        "fullnameOverride": RELEASE,
        "defaultRules": {"rules": dict.fromkeys(MANAGED_ELSEWHERE, False)},
        "kubeApiServer": {"enabled": False},
        "kubeControllerManager": {"enabled": False},
        "kubeEtcd": {"enabled": False},
        "kubeProxy": {"enabled": False},
        "kubeScheduler": {"enabled": False},
        "prometheusOperator": _operator(),
        "prometheus": {"prometheusSpec": _prometheus(shape)},
        "alertmanager": _alertmanager(shape.receiver),
        "grafana": _grafana(),
        "kube-state-metrics": _state_metrics(),
        "prometheus-node-exporter": {
            "fullnameOverride": f"{RELEASE}-node-exporter",
            "namespaceOverride": EXPORTER_NAMESPACE,
            "resources": NODE_EXPORTER.resources(),
        },
    }


def _operator() -> dict[str, Any]:
    return {
        "admissionWebhooks": {"enabled": False},
        "tls": {"enabled": False},  # its certificate comes with the webhook
        "affinity": MANAGERS_FIRST,
        "resources": OPERATOR.resources(),
        "prometheusConfigReloader": {"resources": RELOADER.resources()},
    }


def _prometheus(shape: MetricsShape) -> dict[str, Any]:
    claim: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{shape.disk_gib}Gi"}},
    }
    if shape.own_disk:
        claim |= {"storageClassName": "", "volumeName": DISK}
    return {
        "retention": f"{shape.days}d",
        "retentionSize": f"{int(shape.disk_gib * DISK_SHARE)}GiB",
        "storageSpec": {"volumeClaimTemplate": {"spec": claim}},
        # Without it the claim, and the disk that it pays for, would outlive the release.
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        # Monitors and rules of everybody, not only those of this release.
        "podMonitorSelectorNilUsesHelmValues": False,
        "serviceMonitorSelectorNilUsesHelmValues": False,
        "ruleSelectorNilUsesHelmValues": False,
        "affinity": MANAGERS_FIRST,
        "resources": PROMETHEUS.resources(),
    }


def _alertmanager(receiver: AlertReceiver | None) -> dict[str, Any]:
    return {
        "serviceAccount": {"name": contract.ALERTS_ACCOUNT},
        "alertmanagerSpec": {
            "automountServiceAccountToken": False,
            "affinity": MANAGERS_FIRST,
            "resources": ALERTMANAGER.resources(),
        },
        "config": alert_config(receiver),
    }


def _grafana() -> dict[str, Any]:
    own: Mapping[str, Any] = {
        "searchNamespace": contract.MONITORING_NAMESPACE,
        "resource": "configmap",
    }
    return {
        "fullnameOverride": f"{RELEASE}-grafana",
        "admin": {
            "existingSecret": ADMIN_SECRET,
            "userKey": "admin-user",
            "passwordKey": "admin-password",
        },
        "grafana.ini": {
            "analytics": {"check_for_updates": False, "reporting_enabled": False},
            "auth.anonymous": {"enabled": False},
            "users": {"allow_sign_up": False},
        },
        "rbac": {"namespaced": True},
        "sidecar": {
            "dashboards": {**own, "label": DASHBOARD_LABEL, "labelValue": "1"},
            "datasources": own,
            "resources": SIDECAR.resources(),
        },
        "testFramework": {"enabled": False},
        "affinity": MANAGERS_FIRST,
        "resources": GRAFANA.resources(),
    }


def _state_metrics() -> dict[str, Any]:
    return {
        "fullnameOverride": f"{RELEASE}-state",
        # It would need to read every Secret of the cluster to say that it exists.
        "collectorsExclude": ["secrets", "configmaps"],
        "metricLabelsAllowlist": [f"nodes=[{','.join(NODE_LABELS)}]"],
        "affinity": MANAGERS_FIRST,
        "resources": STATE_METRICS.resources(),
    }
