"""The identity of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws import policies

MANAGED_POLICIES = {
    "worker": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    "images": "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
}
"""Join the cluster and pull images. What pods need they get by Pod Identity, not from the node."""


@dataclass(frozen=True, kw_only=True)
class NodeRoleArgs:
    tags: Mapping[str, str]


class NodeRole(pulumi.ComponentResource):
    """One role for all nodes; EKS admits it to the cluster when the first node group is made."""

    arn: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]
    """A node joins only once its role has all rights."""

    def __init__(
        self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:NodeRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=policies.service_trust("ec2.amazonaws.com"),
            tags=dict(args.tags),
            opts=child,
        )
        attachments = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{key}", role=role.name, policy_arn=policy, opts=child
            )
            for key, policy in MANAGED_POLICIES.items()
        ]
        self.arn = role.arn
        self.ready = tuple(attachments)
        self.register_outputs({"arn": self.arn})
