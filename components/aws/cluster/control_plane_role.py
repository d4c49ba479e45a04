"""The identity of the control plane."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies

CLUSTER_POLICY = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
KEY_ACTIONS = ("kms:Encrypt", "kms:Decrypt", "kms:DescribeKey", "kms:ListGrants")


@dataclass(frozen=True, kw_only=True)
class ControlPlaneRoleArgs:
    account: pulumi.Input[str]
    cluster: pulumi.Input[str]
    """Pattern of the ARN of whom it is for."""
    key_arn: pulumi.Input[str]
    """What encrypts the cluster's secrets."""
    tags: Mapping[str, str]


class ControlPlaneRole(pulumi.ComponentResource):
    """What EKS does in this account for the cluster: its network interfaces, and its key.

    EKS encrypts by a grant, made with the rights of whoever creates the cluster; with this role it
    checks again and again that key and grant are there. The role that pulumi_eks would make may not
    look, which fills CloudTrail with refusals.
    """

    role: aws.iam.Role
    ready: tuple[pulumi.Resource, ...]
    """The cluster comes after these and goes before them: without them EKS leaves security groups
    behind."""

    def __init__(
        self, name: str, args: ControlPlaneRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:ControlPlaneRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=policies.own_service_trust(
                "eks.amazonaws.com", account=args.account, source=args.cluster
            ),
            tags=dict(args.tags),
            opts=child,
        )
        cluster = aws.iam.RolePolicyAttachment(
            f"{name}-cluster", role=self.role.name, policy_arn=CLUSTER_POLICY, opts=child
        )
        key = aws.iam.RolePolicy(
            f"{name}-key",
            role=self.role.id,
            policy=policies.document([policies.allow(KEY_ACTIONS, [args.key_arn])]),
            opts=child,
        )
        self.ready = (cluster, key)
        self.register_outputs({})
