"""A whole control plane: scheduler and controller manager beside etcd and the API server."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cluster.server import ADMIN_TOKEN, ApiServer, etcd_for_api_server, running

BINARIES = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
HEARTBEAT_SECONDS = 1.0
"""Of the nodes in these tests."""
NODE_SILENT_SECONDS = 8
"""A node that is silent for so long is taken for lost; generous, for a loaded machine."""
CONTROLLERS = (
    "disruption",
    "garbage-collector-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "taint-eviction-controller",
)
"""What acts on pods and nodes in any cluster; none that would make pods of its own."""


@dataclass(frozen=True)
class ControlPlane:
    server: ApiServer
    kubeconfig: Path
    """An administrator's."""


@contextmanager
def control_plane(binaries: Path, folder: Path) -> Iterator[ControlPlane]:
    """Ready for pods when entered, but for the few seconds in which its parts list the cluster."""
    with ExitStack() as stack:
        server = stack.enter_context(etcd_for_api_server(binaries, folder))
        stack.enter_context(server.running())
        kubeconfig = server.kubeconfig("admin", ADMIN_TOKEN)
        commands = {
            "scheduler": _scheduler(binaries, folder, kubeconfig),
            "controller-manager": _controller_manager(binaries, server, kubeconfig),
        }
        for name, command in commands.items():
            stack.enter_context(running(folder / f"{name}.log", command))
        yield ControlPlane(server, kubeconfig)


def _scheduler(binaries: Path, folder: Path, kubeconfig: Path) -> list[str]:
    settings = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
    }
    path = folder / "scheduler.yaml"
    path.write_text(yaml.safe_dump(settings))
    return [str(binaries / "kube-scheduler"), f"--config={path}", "--secure-port=0"]


def _controller_manager(binaries: Path, server: ApiServer, kubeconfig: Path) -> list[str]:
    return [
        str(binaries / "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--root-ca-file={server.authority}",
        "--leader-elect=false",
        "--secure-port=0",
        "--node-monitor-period=1s",
        f"--node-monitor-grace-period={NODE_SILENT_SECONDS}s",
    ]
