"""Who may mount the shared file system, and what its driver may do in AWS; data only."""

from typing import Any

import pulumi

from components.aws import policies

CONTROLLER_ACCOUNT = "efs-csi-controller-sa"
NODE_ACCOUNT = "efs-csi-node-sa"
CLIENT_ACTIONS = (
    "elasticfilesystem:ClientMount",
    "elasticfilesystem:ClientWrite",
    "elasticfilesystem:ClientRootAccess",
)


def mount_policy(file_system: pulumi.Input[str]) -> pulumi.Output[str]:
    """Whoever reaches a mount target may mount, but never in the clear."""
    reached = policies.allow(
        CLIENT_ACTIONS,
        [file_system],
        conditions={
            "Bool": {
                "elasticfilesystem:AccessedViaMountTarget": "true",
                "aws:SecureTransport": "true",
            }
        },
    )
    return policies.document([{**reached, "Principal": {"AWS": "*"}}])


def driver_statements(file_system: pulumi.Output[str]) -> dict[str, list[dict[str, Any]]]:
    """Service account -> what it may do: see this file system; the controller also makes and
    removes access points that carry its own tag."""
    account_wide = file_system.apply(lambda arn: arn.rsplit(":", 1)[0])
    points = pulumi.Output.concat(account_wide, ":access-point/*")
    tag = "efs.csi.aws.com/cluster"
    see = [
        policies.allow(
            [
                "elasticfilesystem:DescribeAccessPoints",
                "elasticfilesystem:DescribeFileSystems",
                "elasticfilesystem:DescribeMountTargets",
            ],
            [file_system, points],
        ),
        policies.allow(["ec2:DescribeAvailabilityZones"], ["*"]),
    ]
    make = policies.allow(
        ["elasticfilesystem:CreateAccessPoint", "elasticfilesystem:TagResource"],
        [file_system, points],
        conditions={"StringEquals": {f"aws:RequestTag/{tag}": "true"}},
    )
    remove = policies.allow(
        ["elasticfilesystem:DeleteAccessPoint"],
        [points],
        conditions={"StringEquals": {f"aws:ResourceTag/{tag}": "true"}},
    )
    return {CONTROLLER_ACCOUNT: [*see, make, remove], NODE_ACCOUNT: see}
