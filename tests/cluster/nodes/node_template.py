"""The node that cluster-autoscaler imagines of a group that has none: from its tags and its type.

As its AWS provider does it (cloudprovider/aws/aws_manager.go, buildNodeFromTemplate): capacity from
the instance type, labels, taints and resources from the tags, which win.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from components.aws.nodes.node_template import NODE_TEMPLATE
from spotrain import contract
from spotrain.local.kubelet import NodeSpec
from stacks.aws.instances import gpu_catalog
from stacks.recorder import Recording, Registration

GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"


@dataclass(frozen=True, kw_only=True)
class Group:
    """A scaling group as AWS would describe it."""

    pool: str
    zone: str
    instance_type: str
    """The first of its list, which the autoscaler takes for all."""
    tags: Mapping[str, str]

    def told(self, kind: str) -> dict[str, str]:
        """What its tags say of one kind: label, taint or resources."""
        prefix = f"{NODE_TEMPLATE}/{kind}/"
        found = {tag: value for tag, value in self.tags.items() if tag.startswith(prefix)}
        return {tag.removeprefix(prefix): value for tag, value in found.items()}


def groups_of(recording: Recording) -> list[Group]:
    """One group of each GPU pool; those of its other zones differ in nothing else."""
    first: dict[str, Group] = {}
    for registration in recording.of_type(GROUP):
        if not registration.name.startswith("gpu-"):
            continue
        group = _group(recording, registration)
        first.setdefault(group.pool, group)
    return list(first.values())


def _group(recording: Recording, registration: Registration) -> Group:
    name = f"eks-{registration.name}-0000"
    tags = [tag.inputs for tag in recording.of_type(TAG)]
    own = {t["tag"]["key"]: t["tag"]["value"] for t in tags if t["autoscalingGroupName"] == name}
    return Group(
        pool=own["pool"],
        zone=registration.name.removeprefix(f"gpu-{own['pool']}-"),
        instance_type=registration.inputs["instanceTypes"][0],
        tags=own,
    )


def imagine(group: Group, name: str, **labels: str) -> NodeSpec:
    """The template node, under a name and with further labels of the test's own."""
    kind = gpu_catalog().types[group.instance_type]
    of_type = {
        "cpu": str(kind.vcpu),
        "memory": f"{kind.memory_gib}Gi",
        "ephemeral-storage": "0",
        contract.GPU_RESOURCE: str(kind.gpus),
    }
    taints = [
        {"key": key, "value": value.partition(":")[0], "effect": value.partition(":")[2]}
        for key, value in group.told("taint").items()
    ]
    return NodeSpec(
        name=name,
        labels={
            "node.kubernetes.io/instance-type": group.instance_type,
            "topology.kubernetes.io/region": group.zone[:-1],
            contract.LABEL_ZONE: group.zone,
            **group.told("label"),
            **labels,
        },
        taints=taints,
        capacity={**of_type, **group.told("resources")},
    )
