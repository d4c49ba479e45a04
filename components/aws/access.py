"""Who may talk to the cluster, and as what."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from spotrain import contract

ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    cluster_name: pulumi.Input[str]
    admins: tuple[str, ...]
    """ARNs of roles and users with full rights."""
    researchers: tuple[str, ...]
    """ARNs of roles and users that belong to the researchers' group, and have only its rights."""
    tags: Mapping[str, str]


class Access(pulumi.ComponentResource):
    """Access entries: AWS says who somebody is, the cluster what they may do."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Access", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        admins = [each for principal in args.admins for each in self._admin(principal)]
        researchers = [
            self._entry(f"researcher-{_key(principal)}", principal, [contract.RESEARCHERS_GROUP])
            for principal in args.researchers
        ]
        self.ready = (*admins, *researchers)
        self.register_outputs({})

    def _admin(self, principal: str) -> list[pulumi.Resource]:
        name = f"admin-{_key(principal)}"
        entry = self._entry(name, principal, [])
        grant = aws.eks.AccessPolicyAssociation(
            f"{self._name}-{name}",
            cluster_name=self._args.cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN_POLICY,
            access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=self._child,
        )
        return [entry, grant]

    def _entry(self, name: str, principal: str, groups: list[str]) -> aws.eks.AccessEntry:
        return aws.eks.AccessEntry(
            f"{self._name}-{name}",
            cluster_name=self._args.cluster_name,
            principal_arn=principal,
            type="STANDARD",
            kubernetes_groups=groups or None,
            tags=dict(self._args.tags),
            opts=self._child,
        )


def _key(principal: str) -> str:
    """arn:aws:iam::123456789012:role/admin -> 123456789012-role-admin"""
    return principal.split(":", 4)[4].replace(":", "-").replace("/", "-")
