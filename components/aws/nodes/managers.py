"""On-demand nodes for everything that must not be taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.nodes.launch_template import (
    KEEP_DESIRED_SIZE,
    TemplateArgs,
    launch_template,
    node_repair,
    template_reference,
    update_timeouts,
)
from components.aws.reference import ClusterReference
from spotrain import contract


@dataclass(frozen=True, kw_only=True)
class ManagersShape:
    """What a stack file decides about managers."""

    instance_types: tuple[str, ...]
    min_nodes: int
    max_nodes: int
    disk_gib: int


@dataclass(frozen=True, kw_only=True)
class ManagersArgs:
    shape: ManagersShape
    cluster: ClusterReference
    role_arn: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    after: Sequence[pulumi.Resource]
    """What a node needs to join: routes, its role's rights, the add-ons that run on every node."""
    tags: Mapping[str, str]


class Managers(pulumi.ComponentResource):
    """A node group without a taint: the controller, the autoscaler and the add-ons live here."""

    group: aws.eks.NodeGroup

    def __init__(
        self, name: str, args: ManagersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Managers", name, {}, opts)
        shape = args.shape
        child = pulumi.ResourceOptions(parent=self)
        tags = {**args.tags, "pool": "managers"}  # what the bill can be split by
        template = launch_template(
            f"{name}-template", TemplateArgs(disk_gib=shape.disk_gib, tags=tags), child
        )
        self.group = aws.eks.NodeGroup(
            f"{name}-group",
            cluster_name=args.cluster.name,
            version=args.cluster.version,
            node_role_arn=args.role_arn,
            subnet_ids=list(args.subnet_ids),
            ami_type="AL2023_x86_64_STANDARD",
            capacity_type="ON_DEMAND",
            instance_types=list(shape.instance_types),
            launch_template=template_reference(template),
            labels={contract.LABEL_ROLE: contract.ROLE_MANAGER},
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                min_size=shape.min_nodes, max_size=shape.max_nodes, desired_size=shape.min_nodes
            ),
            # A new node first, then an old one goes: what runs here always has a place.
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=node_repair(),
            tags=tags,
            opts=pulumi.ResourceOptions.merge(
                child,
                pulumi.ResourceOptions(
                    ignore_changes=KEEP_DESIRED_SIZE,
                    depends_on=list(args.after),
                    custom_timeouts=update_timeouts(shape.max_nodes),
                ),
            ),
        )
        self.register_outputs({})
