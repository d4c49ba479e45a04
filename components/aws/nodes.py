"""What managers and GPU nodes have in common."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

ROOT_DEVICE = "/dev/xvda"
"""Root device of Amazon Linux 2023."""
KEEP_DESIRED_SIZE = ["scalingConfig.desiredSize"]
"""The autoscaler owns this number; an update that reset it would stop running nodes."""


def launch_template(
    name: str, *, disk_gib: int, tags: Mapping[str, str], opts: pulumi.ResourceOptions
) -> aws.ec2.LaunchTemplate:
    """Instance settings that a node group alone cannot express.

    Pods cannot reach the node's credentials: the metadata service answers IMDSv2 only, one hop far.
    """
    named = {**tags, "Name": f"{tags['stack']}-{name}"}
    disk = aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_type="gp3", volume_size=disk_gib, encrypted="true", delete_on_termination="true"
    )
    metadata = aws.ec2.LaunchTemplateMetadataOptionsArgs(
        http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
    )
    return aws.ec2.LaunchTemplate(
        name,
        update_default_version=True,
        block_device_mappings=[
            aws.ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=ROOT_DEVICE, ebs=disk)
        ],
        metadata_options=metadata,
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=named)
            for kind in ("instance", "volume", "network-interface")
        ],
        tags=named,
        opts=opts,
    )


def template_reference(template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroupLaunchTemplateArgs:
    """The template at its newest version: a changed template rolls the nodes."""
    return aws.eks.NodeGroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(str)
    )
