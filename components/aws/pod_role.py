"""The identity of one service account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws import policies


@dataclass(frozen=True, kw_only=True)
class PodRoleArgs:
    cluster_arn: pulumi.Input[str]
    namespace: str
    service_account: str
    statements: Sequence[Mapping[str, Any]] = ()
    """What the pods may do, as `policies.allow` makes it."""
    managed_policies: Mapping[str, str] | None = None
    """Name -> ARN of policies that AWS writes."""
    tags: Mapping[str, str]


class PodRole(pulumi.ComponentResource):
    """An IAM role that only the pods of one service account of one cluster can use."""

    arn: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: PodRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:PodRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(
            f"{name}-role",
            assume_role_policy=policies.pod_trust(
                cluster_arn=args.cluster_arn,
                namespace=args.namespace,
                service_account=args.service_account,
            ),
            tags=dict(args.tags),
            opts=child,
        )
        rights: list[pulumi.Resource] = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{key}", role=role.name, policy_arn=policy, opts=child
            )
            for key, policy in (args.managed_policies or {}).items()
        ]
        if args.statements:
            policy = policies.document(args.statements)
            rights.append(
                aws.iam.RolePolicy(f"{name}-policy", role=role.id, policy=policy, opts=child)
            )
        self.arn = role.arn
        self.ready = tuple(rights)
        self.register_outputs({"arn": self.arn})
