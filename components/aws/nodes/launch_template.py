"""What managers and GPU nodes have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.nodes.disks import BASE_MIB_PER_SECOND

ROOT_DEVICE = "/dev/xvda"
"""Root device of Amazon Linux 2023."""
KEEP_DESIRED_SIZE = ["scalingConfig.desiredSize"]
"""The autoscaler owns this number; an update that reset it would stop running nodes. Ignored means
taken from Pulumi's state: when another number of the scaling configuration changes, the provider
sends all three, and a refresh has made this one true (docs/decisions/0008-refresh.md)."""

UPDATE_MINUTES = 20
"""Of one node: EKS waits 15 for its pods to go, and the next one boots."""


@dataclass(frozen=True, kw_only=True)
class TemplateArgs:
    """What differs between launch templates."""

    disk_gib: int
    disk_mib_per_second: int = BASE_MIB_PER_SECOND
    user_data: str | None = None
    interfaces: Sequence[aws.ec2.LaunchTemplateNetworkInterfaceArgs] = ()
    """Empty: one, with the cluster's security group; EKS adds it."""
    placement_group: pulumi.Input[str] | None = None
    tags: Mapping[str, str]


def launch_template(
    name: str, args: TemplateArgs, opts: pulumi.ResourceOptions
) -> aws.ec2.LaunchTemplate:
    """Instance settings that a node group alone cannot express.

    Pods cannot reach the node's credentials: the metadata service answers IMDSv2 only, one hop far.
    Nobody can log in: there is no key pair.
    """
    named = {**args.tags, "Name": f"{args.tags['stack']}-{name}"}
    disk = aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_type="gp3",
        volume_size=args.disk_gib,
        throughput=args.disk_mib_per_second,
        encrypted="true",
        delete_on_termination="true",
    )
    metadata = aws.ec2.LaunchTemplateMetadataOptionsArgs(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )
    return aws.ec2.LaunchTemplate(
        name,
        block_device_mappings=[
            aws.ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=ROOT_DEVICE, ebs=disk)
        ],
        metadata_options=metadata,
        monitoring=aws.ec2.LaunchTemplateMonitoringArgs(enabled=False),
        network_interfaces=list(args.interfaces) or None,
        placement=_placement(args.placement_group),
        user_data=args.user_data,
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=named)
            for kind in ("instance", "volume", "network-interface")
        ],
        tags=named,
        opts=opts,
    )


def _placement(
    group: pulumi.Input[str] | None,
) -> aws.ec2.LaunchTemplatePlacementArgs | None:
    return None if group is None else aws.ec2.LaunchTemplatePlacementArgs(group_name=group)


def node_repair() -> aws.eks.NodeGroupNodeRepairConfigArgs:
    """EKS reboots or replaces a node whose GPU has been reported broken for 10 minutes, and
    replaces one whose kernel, network, disk or kubelet has for 30. It stops when a fifth of a group
    of more than five is ill: then something else is wrong."""
    return aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True)


def update_timeouts(max_nodes: int) -> pulumi.CustomTimeouts:
    """One node after the other, each with 15 minutes for its pods to go: a full pool takes hours.

    Left alone Pulumi gives up after one, and calls an update failed that EKS goes on with.
    """
    return pulumi.CustomTimeouts(update=f"{max(60, UPDATE_MINUTES * max_nodes)}m")


def template_reference(template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroupLaunchTemplateArgs:
    """The template at its newest version.

    A changed template replaces the group's nodes, one at a time: EKS drains a node, which jobs see
    as a notice, and fails the update, leaving the rest as it was, when pods stay for 15 minutes.
    """
    return aws.eks.NodeGroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(str)
    )
