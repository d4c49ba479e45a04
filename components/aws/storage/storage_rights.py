"""Who may mount the shared file system, and what its driver may do in AWS; data only."""

from typing import Any

import pulumi

from components.aws import policies

CONTROLLER_ACCOUNT = "efs-csi-controller-sa"
OWN_TAG = "efs.csi.aws.com/cluster"
"""The driver's own, on every access point that it makes."""


def mount_policy(file_system: pulumi.Output[str]) -> pulumi.Output[str]:
    """Whoever reaches a mount target may mount, but never in the clear, only through an access
    point, and nobody as root: a box in an admitted network is the jobs' user and no other. Whoever
    has more rights in IAM has them here too, by mounting with `iam`."""
    reached = policies.allow(
        ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
        [file_system],
        conditions={
            "Bool": {
                "elasticfilesystem:AccessedViaMountTarget": "true",
                "aws:SecureTransport": "true",
            },
            "StringLike": {"elasticfilesystem:AccessPointArn": access_points(file_system)},
        },
    )
    return policies.document([{**reached, "Principal": {"AWS": "*"}}])


def driver_statements(file_system: pulumi.Output[str]) -> list[dict[str, Any]]:
    """What the driver's controller may do: see this file system, and make and remove access points
    that carry its own tag. It tags only what it is making: whoever could tag any access point could
    then remove it, the jobs' own first."""
    points = access_points(file_system)
    asked = {f"aws:RequestTag/{OWN_TAG}": "true"}
    return [
        policies.allow(
            [
                "elasticfilesystem:DescribeAccessPoints",
                "elasticfilesystem:DescribeFileSystems",
                "elasticfilesystem:DescribeMountTargets",
            ],
            [file_system, points],
        ),
        policies.allow(["ec2:DescribeAvailabilityZones"], ["*"]),
        policies.allow(
            ["elasticfilesystem:CreateAccessPoint"],
            [file_system],
            conditions={"StringEquals": asked},
        ),
        policies.allow(
            ["elasticfilesystem:TagResource"],
            [points],
            conditions={
                "StringEquals": {**asked, "elasticfilesystem:CreateAction": "CreateAccessPoint"}
            },
        ),
        policies.allow(
            ["elasticfilesystem:DeleteAccessPoint"],
            [points],
            conditions={"StringEquals": {f"aws:ResourceTag/{OWN_TAG}": "true"}},
        ),
    ]


def access_points(file_system: pulumi.Output[str]) -> pulumi.Output[str]:
    """Those of the account and region: AWS puts no file system in their names."""
    account_wide = file_system.apply(lambda arn: arn.rsplit(":", 1)[0])
    return pulumi.Output.concat(account_wide, ":access-point/*")
