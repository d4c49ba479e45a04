"""What a node of a pool would be, for those who must know before there is one; pure."""

from dataclasses import dataclass

from components.cloud import Pool
from spotrain import contract

ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
"""Tells the autoscaler to wait for the GPU of a node that has just booted. Without it a node whose
device plugin is still starting looks like one without a GPU, and a second one is ordered."""
EFA_LABEL = f"{contract.DOMAIN}/efa"
EFA_RESOURCE = "vpc.amazonaws.com/efa"
NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
"""Prefix of the tags from which the autoscaler knows a group that has no node yet."""


@dataclass(frozen=True, kw_only=True)
class NodeSize:
    """What pods get of the smallest node of a pool."""

    cpu_millis: int
    memory_mib: int
    storage_gib: int
    efa_interfaces: int = 0
    """0: plain networking."""


def node_labels(pool: Pool, *, efa: bool = False) -> dict[str, str]:
    """The labels by which jobs, device plugins and the autoscaler find a pool's nodes."""
    return {
        **pool.node_labels(),
        ACCELERATOR_LABEL: pool.gpu,
        **({EFA_LABEL: "present"} if efa else {}),
    }


def node_template_tags(pool: Pool, node: NodeSize) -> dict[str, str]:
    """What the autoscaler reads. Left to itself it takes the instance's whole CPU and memory,
    orders a node for a pod that almost fills it, and the pod never fits."""
    taint = f"{contract.GPU_TAINT_VALUE}:{contract.GPU_TAINT_EFFECT}"
    labels = node_labels(pool, efa=node.efa_interfaces > 0)
    resources = {
        contract.GPU_RESOURCE: str(pool.gpus_per_node),
        "cpu": f"{node.cpu_millis}m",
        "memory": f"{node.memory_mib}Mi",
        "ephemeral-storage": f"{node.storage_gib}Gi",
        **({EFA_RESOURCE: str(node.efa_interfaces)} if node.efa_interfaces else {}),
    }
    return {
        **{f"{NODE_TEMPLATE}/label/{key}": value for key, value in labels.items()},
        f"{NODE_TEMPLATE}/taint/{contract.GPU_TAINT_KEY}": taint,
        **{f"{NODE_TEMPLATE}/resources/{key}": value for key, value in resources.items()},
    }
