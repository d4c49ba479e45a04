"""A made-up machine as the API server knows it: its Node object, its Lease. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from spotrain.local.kubelet.addresses import HOST_IP
from spotrain.local.kubelet.status import moment

Document = dict[str, Any]
LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
"""As the real kubelet says."""
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, kw_only=True)
class NodeSpec:
    """What the machine is said to have."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    """As in the Node's spec: key, value, effect."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Resource -> quantity, above 8 CPUs, 32 GiB of memory and 110 pods."""


def build_node(spec: NodeSpec) -> Document:
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        HOSTNAME_LABEL: spec.name,
        **spec.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": labels},
        "spec": {"taints": [dict(taint) for taint in spec.taints]},
    }


def build_node_status(
    spec: NodeSpec, now: datetime, since: datetime, *, port: int | None = None
) -> Document:
    """Ready since `since`, and with as much room as it was made with.

    `port`: where its kubelet serves; None: nowhere.
    """
    capacity = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    capacity |= spec.capacity
    fine = {
        "Ready": ("True", "KubeletReady"),
        "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID"),
    }
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "a node made of processes",
            "lastHeartbeatTime": moment(now),
            "lastTransitionTime": moment(since),
        }
        for kind, (status, reason) in fine.items()
    ]
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": HOST_IP},
            {"type": "Hostname", "address": spec.name},
        ],
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}),
    }


def build_lease(spec: NodeSpec, uid: str, now: datetime) -> Document:
    """Its renewal is the cheap sign of life."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": spec.name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": spec.name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [owner],
        },
        "spec": {
            "holderIdentity": spec.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
