"""Whether the managers have room for what runs on them; pure.

Requests, not use: they are what the scheduler goes by. Figures of add-ons are those of the coredns
of 1.36, of metrics-server's components.yaml, and of the charts aws-ebs-csi-driver, aws-vpc-cni and
eks-node-monitoring-agent of 2026-08. On nodes the EFS and S3 drivers and the identity agent ask for
nothing, but each is a pod.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from components.platform import metrics_values
from components.platform.metrics_values import Room
from stacks.aws.allocatable import Allocatable, Size, smallest
from stacks.aws.services import service_catalog

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings

UNITS = {"Mi": 1, "Gi": 1024}


@dataclass(frozen=True)
class Ask:
    """What pods ask for, all together: CPU in millicores, memory in MiB, a place."""

    cpu_millis: int
    memory_mib: int
    pods: int = 1

    def __mul__(self, times: int) -> "Ask":
        return Ask(self.cpu_millis * times, self.memory_mib * times, self.pods * times)

    def __add__(self, other: "Ask") -> "Ask":
        return Ask(
            self.cpu_millis + other.cpu_millis,
            self.memory_mib + other.memory_mib,
            self.pods + other.pods,
        )


NOTHING = Ask(0, 0, 0)
OURS = {
    "autoscaler": Ask(100, 400) * 2,
    "archive-deployment": Ask(50, 128),
    "elastic-jobs-controller": Ask(100, 256) * 2,
    "prices": Ask(50, 128),
}
"""What the program itself runs; a test compares."""
ADD_ONS = {
    "coredns": Ask(100, 70) * 2,
    "metrics-server": Ask(100, 200) * 2,
    "aws-efs-csi-driver": Ask(60, 192) * 2,
}
"""The EFS driver's controller: three containers that each ask for what storage.DRIVER_SETTINGS says
(charts/aws-efs-csi-driver/templates/controller-deployment.yaml)."""
ON_EVERY_NODE = {
    "vpc-cni": Ask(50, 0),
    "kube-proxy": Ask(100, 0),
    "eks-pod-identity-agent": Ask(0, 0),
    "eks-node-monitoring-agent": Ask(10, 30),
    "aws-efs-csi-driver": Ask(0, 0),
}
EBS_CONTROLLER, EBS_NODE = Ask(60, 240) * 2, Ask(30, 120)
"""Six containers, and three, that ask for 10m and 40Mi each."""
S3_NODE = Ask(0, 0)
LOGS_NODE = Ask(50, 64)
"""Of components/aws/watch/container_logs.py."""


def ask(*rooms: Room) -> Ask:
    """A pod of these containers."""
    return Ask(sum(_millis(r.cpu) for r in rooms), sum(_mib(r.memory) for r in rooms))


def _millis(cpu: str) -> int:
    return int(cpu.removesuffix("m")) * (1 if cpu.endswith("m") else 1000)


def _mib(memory: str) -> int:
    return int(memory[:-2]) * UNITS[memory[-2:]]


def metrics() -> Iterator[Ask]:
    """Prometheus and what belongs to it."""
    v = metrics_values
    yield ask(v.PROMETHEUS, v.RELOADER)
    yield ask(v.ALERTMANAGER, v.RELOADER)
    yield ask(v.GRAFANA, v.SIDECAR, v.SIDECAR)
    yield ask(v.OPERATOR)
    yield ask(v.STATE_METRICS)


def asked(settings: "AwsSettings") -> tuple[Ask, Ask]:
    """What is asked for once, and what on every node."""
    observed = settings.observability
    once = [*OURS.values(), *ADD_ONS.values()]
    each = [*ON_EVERY_NODE.values()]
    if observed.metrics:
        once += [EBS_CONTROLLER, *metrics()]
        each += [EBS_NODE, ask(metrics_values.NODE_EXPORTER)]
    if observed.logs:
        each += [LOGS_NODE]
    if settings.storage.bucket:
        each += [S3_NODE]
    return _total(once), _total(each)


def _total(asks: Iterable[Ask]) -> Ask:
    return sum(asks, NOTHING)


def nodes_needed(settings: "AwsSettings", node: Allocatable) -> int:
    """The fewest of such nodes that hold everything."""
    once, each = asked(settings)
    pairs = [
        (once.cpu_millis, node.cpu_millis - each.cpu_millis),
        (once.memory_mib, node.memory_mib - each.memory_mib),
        (once.pods, node.pods - each.pods),
    ]
    return max(ceil(wanted / max(room, 1)) for wanted, room in pairs)


def warnings(settings: "AwsSettings") -> Iterator[str]:
    """Managers that have no node to lose. None that services.yaml knows today is so small."""
    managers, known = settings.managers, service_catalog().managers
    types = [known[name] for name in managers.instance_types]
    node = smallest(
        Size(vcpu=each.vcpu, memory_gib=each.memory_gib, max_pods=each.max_pods) for each in types
    )
    needed = nodes_needed(settings, node)
    if managers.min_nodes <= needed:
        once, _ = asked(settings)
        yield (
            f"managers.min_nodes: {managers.min_nodes} of {managers.instance_types[0]} have no "
            f"room to lose one: what runs there asks for {once.cpu_millis} millicores and "
            f"{once.memory_mib} MiB, which takes {needed}. Set min_nodes to {needed + 1}, or name "
            "a larger type; else some of it waits while the autoscaler brings a node."
        )
