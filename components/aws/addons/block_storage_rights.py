"""What the EBS driver may do in AWS; data only."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.aws import policies

CONTROLLER_ACCOUNT = "ebs-csi-controller-sa"


def driver_statements(
    *,
    cluster_name: pulumi.Output[str],
    cluster_arn: pulumi.Output[str],
    tags: Mapping[str, str],
) -> list[dict[str, Any]]:
    """See disks; attach those with the stack's tags to this cluster's nodes.

    Narrower than AmazonEBSCSIDriverPolicyV2, from which these statements are: it makes, changes and
    deletes no disk and no snapshot, and touches no disk of other stacks, no instance of other
    clusters.
    """

    def every(kind: str) -> pulumi.Output[str]:
        return policies.ec2_resources(cluster_arn, kind)

    ours = {f"aws:ResourceTag/{key}": value for key, value in tags.items()}
    node = {"aws:ResourceTag/eks:cluster-name": cluster_name}
    move = ["ec2:AttachVolume", "ec2:DetachVolume"]
    return [
        policies.allow(
            [
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeInstances",
                "ec2:DescribeVolumeStatus",
                "ec2:DescribeVolumes",
                "ec2:DescribeVolumesModifications",
            ],
            ["*"],  # AWS knows no narrower resource for these
        ),
        policies.allow(move, [every("volume")], conditions={"StringEquals": ours}),
        policies.allow(move, [every("instance")], conditions={"StringEquals": node}),
    ]
