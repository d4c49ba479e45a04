"""One GPU pool: a node group per zone, none running until a job needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.nodes.disks import BASE_MIB_PER_SECOND, IMAGE_MIB_PER_SECOND
from components.aws.nodes.efa import efa_interfaces, side_by_side
from components.aws.nodes.launch_template import (
    KEEP_DESIRED_SIZE,
    TemplateArgs,
    launch_template,
    node_repair,
    template_reference,
    update_timeouts,
)
from components.aws.nodes.node_config import local_disks_as_storage
from components.aws.nodes.node_template import (
    NODE_TEMPLATE,
    NodeSize,
    node_labels,
    node_template_tags,
)
from components.aws.reference import ClusterReference
from components.cloud import Pool
from spotrain import contract

CAPACITY_TYPES = {contract.CAPACITY_SPOT: "SPOT", contract.CAPACITY_ON_DEMAND: "ON_DEMAND"}
TAINT_EFFECTS = {"NoSchedule": "NO_SCHEDULE"}
"""Kubernetes' word -> EKS's."""
NOTICE_SECONDS = {contract.CAPACITY_SPOT: 90, contract.CAPACITY_ON_DEMAND: 300}
"""Spot: AWS says 120, and EKS needs up to 30 of them to see the notice and start the drain.
On demand nobody takes a node back: an update or a scale-down waits as long as the pod asks."""


@dataclass(frozen=True, kw_only=True)
class PoolShape:
    """What a stack file decides about a pool."""

    pool: Pool
    disk_gib: int
    node: NodeSize
    local_disks: bool = False
    """Images and temporary files lie on the instance's own disks."""


@dataclass(frozen=True, kw_only=True)
class GpuPoolArgs:
    shape: PoolShape
    cluster: ClusterReference
    role_arn: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    security_group_id: pulumi.Input[str]
    """The cluster's own, for interfaces that this pool defines itself."""
    after: Sequence[pulumi.Resource]
    """What a node needs to join: routes, its role's rights, the add-ons that run on every node."""
    tags: Mapping[str, str]


class GpuPool(pulumi.ComponentResource):
    """One raw node group per zone, tainted and labelled, from zero to the pool's limit.

    A group never spans zones: all workers of a job stay in one zone, and a group over several would
    be rebalanced by AWS, which stops running nodes.
    """

    pool: Pool
    groups: tuple[aws.eks.NodeGroup, ...]
    scaling_group_names: tuple[pulumi.Output[str], ...]

    def __init__(
        self, name: str, args: GpuPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:GpuPool", name, {}, opts)
        self.pool, self._name, self._args = args.shape.pool, name, args
        self._efa = args.shape.node.efa_interfaces
        self._child = pulumi.ResourceOptions(parent=self)
        templates = self._templates()
        groups = {zone: self._group(zone, templates[zone]) for zone in self.pool.zones}
        self.groups = tuple(groups.values())
        self.scaling_group_names = tuple(
            self._tag_scaling_group(zone, group) for zone, group in groups.items()
        )
        self.register_outputs({})

    def _templates(self) -> dict[str, aws.ec2.LaunchTemplate]:
        """Zone -> template; one for all, unless each zone has a placement group to name."""
        zones = self.pool.zones
        if not self._efa:
            shared = launch_template(f"{self._name}-template", self._template(), self._child)
            return dict.fromkeys(zones, shared)
        return {zone: self._efa_template(zone) for zone in zones}

    def _efa_template(self, zone: str) -> aws.ec2.LaunchTemplate:
        group = side_by_side(f"{self._name}-placement-{zone}", tags=self._tags(), opts=self._child)
        args = self._template(
            interfaces=efa_interfaces(self._efa, self._args.security_group_id),
            placement_group=group.name,
        )
        return launch_template(f"{self._name}-template-{zone}", args, self._child)

    def _template(
        self,
        *,
        interfaces: Sequence[aws.ec2.LaunchTemplateNetworkInterfaceArgs] = (),
        placement_group: pulumi.Input[str] | None = None,
    ) -> TemplateArgs:
        shape = self._args.shape
        return TemplateArgs(
            disk_gib=shape.disk_gib,
            disk_mib_per_second=BASE_MIB_PER_SECOND if shape.local_disks else IMAGE_MIB_PER_SECOND,
            user_data=local_disks_as_storage() if shape.local_disks else None,
            interfaces=interfaces,
            placement_group=placement_group,
            tags=self._tags(),
        )

    def _tags(self) -> dict[str, str]:
        """`pool`: what the bill can be split by."""
        return {**self._args.tags, "pool": self.pool.name}

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
            labels=node_labels(self.pool, efa=self._efa > 0),
            taints=[taint],
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=0, max_size=self.pool.max_nodes, desired_size=0
            ),
            # One node at a time: an update drains like an interruption, and jobs survive one. The
            # old node goes first: EKS would else start two GPU nodes more, against quota and bill.
            update_config=aws.eks.NodeGroupUpdateConfigArgs(
                max_unavailable=1, update_strategy="MINIMAL"
            ),
            node_repair_config=node_repair(),
            tags=self._tags(),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                pulumi.ResourceOptions(
                    ignore_changes=KEEP_DESIRED_SIZE,
                    depends_on=list(args.after),
                    custom_timeouts=update_timeouts(self.pool.max_nodes),
                ),
            ),
        )

    def _tag_scaling_group(self, zone: str, group: aws.eks.NodeGroup) -> pulumi.Output[str]:
        """EKS does not copy tags to the scaling group, and the autoscaler reads them only there."""
        group_name = group.resources[0].autoscaling_groups[0].name
        tags = {**self._tags(), **node_template_tags(self.pool, self._args.shape.node)}
        for key, value in tags.items():
            aws.autoscaling.Tag(
                f"{self._name}-{zone}-{key.removeprefix(NODE_TEMPLATE + '/')}",
                autoscaling_group_name=group_name,
                # Instances have their tags from the launch template.
                tag=aws.autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=self._child,
            )
        return group_name
