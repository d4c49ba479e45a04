"""One GPU pool: a node group per zone, none running until a job needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.nodes import KEEP_DESIRED_SIZE, launch_template, template_reference
from components.aws.reference import ClusterReference
from components.cloud import Pool
from spotrain import contract

CAPACITY_TYPES = {contract.CAPACITY_SPOT: "SPOT", contract.CAPACITY_ON_DEMAND: "ON_DEMAND"}
TAINT_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' word -> EKS's."""
ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
"""Tells the autoscaler to wait for the GPU of a node that has just booted. Without it a node whose
device plugin is still starting looks like one without a GPU, and a second one is ordered."""
NOTICE_SECONDS = {contract.CAPACITY_SPOT: 90, contract.CAPACITY_ON_DEMAND: 300}
"""Spot: AWS says 120, and EKS needs up to 30 of them to see the notice and start the drain.
On demand nobody takes a node back: an update or a scale-down waits as long as the pod asks."""
NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
"""Prefix of the tags from which the autoscaler knows a group that has no node yet."""


@dataclass(frozen=True, kw_only=True)
class PoolShape:
    """What a stack file decides about a pool."""

    pool: Pool
    disk_gib: int


@dataclass(frozen=True, kw_only=True)
class GpuPoolArgs:
    shape: PoolShape
    cluster: ClusterReference
    role_arn: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    after: Sequence[pulumi.Resource]
    """What a node needs to join: routes, its role's rights, the add-ons that run on every node."""
    tags: Mapping[str, str]


class GpuPool(pulumi.ComponentResource):
    """One raw node group per zone, tainted and labelled, from zero to the pool's limit.

    A group never spans zones: all workers of a job stay in one zone, and a group over several would
    be rebalanced by AWS, which stops running nodes.
    """

    pool: Pool
    scaling_group_names: tuple[pulumi.Output[str], ...]

    def __init__(
        self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:GpuPool", name, {}, opts)
        self.pool, self._name, self._args = args.shape.pool, name, args
        self._child = pulumi.ResourceOptions(parent=self)
        template = launch_template(
            f"{name}-template", disk_gib=args.shape.disk_gib, tags=args.tags, opts=self._child
        )
        groups = {zone: self._group(zone, template) for zone in self.pool.zones}
        self.scaling_group_names = tuple(
            self._tag_scaling_group(zone, group) for zone, group in groups.items()
        )
        self.register_outputs({})

    def _group(self, zone: str, template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroup:
        args = self._args
        taint = aws.eks.NodeGroupTaintArgs(
            key=contract.GPU_TAINT_KEY,
            value=contract.GPU_TAINT_VALUE,
            effect=TAINT_EFFECTS[contract.GPU_TAINT_EFFECT],
        )
        return aws.eks.NodeGroup(
            f"{self._name}-{zone}",
            cluster_name=args.cluster.name,
            version=args.cluster.version,
            node_role_arn=args.role_arn,
            subnet_ids=[args.subnet_ids[zone]],
            ami_type="AL2023_x86_64_NVIDIA",
            capacity_type=CAPACITY_TYPES[self.pool.capacity],
            instance_types=list(self.pool.instance_types),
            launch_template=template_reference(template),
            labels=node_labels(self.pool),
            taints=[taint],
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=0, max_size=self.pool.max_nodes, desired_size=0
            ),
            # One node at a time: an update drains like an interruption, and jobs survive one.
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                pulumi.ResourceOptions(
                    ignore_changes=KEEP_DESIRED_SIZE, depends_on=list(args.after)
                ),
            ),
        )

    def _tag_scaling_group(self, zone: str, group: aws.eks.NodeGroup) -> pulumi.Output[str]:
        """EKS does not copy tags to the scaling group, and the autoscaler reads them only there."""
        group_name = group.resources[0].autoscaling_groups[0].name
        tags = {
            **self._args.tags,
            **node_template_tags(self.pool, disk_gib=self._args.shape.disk_gib),
        }
        for key, value in tags.items():
            aws.autoscaling.Tag(
                f"{self._name}-{zone}-{key.removeprefix(NODE_TEMPLATE + '/')}",
                autoscaling_group_name=group_name,
                # Instances have their tags from the launch template.
                tag=aws.autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=self._child,
            )
        return group_name


def node_labels(pool: Pool) -> dict[str, str]:
    """The labels by which jobs and the autoscaler find a pool's nodes."""
    return {
        contract.LABEL_POOL: pool.name,
        contract.LABEL_GPU: pool.gpu,
        contract.LABEL_CAPACITY: pool.capacity,
        contract.LABEL_ROLE: contract.ROLE_WORKER,
        ACCELERATOR_LABEL: pool.gpu,
    }


def node_template_tags(pool: Pool, *, disk_gib: int) -> dict[str, str]:
    """What a node of the pool would be, for an autoscaler that has never seen one."""
    taint = f"{contract.GPU_TAINT_VALUE}:{contract.GPU_TAINT_EFFECT}"
    labels = node_labels(pool).items()
    return {
        **{f"{NODE_TEMPLATE}/label/{key}": value for key, value in labels},
        f"{NODE_TEMPLATE}/taint/{contract.GPU_TAINT_KEY}": taint,
        f"{NODE_TEMPLATE}/resources/{contract.GPU_RESOURCE}": str(pool.gpus_per_node),
        f"{NODE_TEMPLATE}/resources/ephemeral-storage": f"{disk_gib}Gi",
    }
