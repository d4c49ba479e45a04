"""Who reaches the Kubernetes API, and as what."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
import pulumi_aws as aws

from spotrain import contract

ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    cluster_name: pulumi.Input[str]
    security_group_id: pulumi.Input[str]
    """The group of the control plane's addresses."""
    networks: tuple[IPv4Network, ...]
    """From where connections to these addresses come; nodes are let in by EKS."""
    admins: tuple[str, ...]
    """ARNs of roles and users with full rights."""
    researchers: tuple[str, ...]
    """ARNs of roles and users that belong to the researchers' group, and have only its rights."""
    tags: Mapping[str, str]


class Access(pulumi.ComponentResource):
    """Ways in through the network, and access entries: AWS says who somebody is, the cluster what
    they may do.

    An entry is named by whom it is for, so that a researcher who becomes an admin keeps it: EKS
    takes no second entry for one principal, and a new one would come before the old one goes.
    The creator of the cluster has an entry already, made by EKS, and must not get one here.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Access", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        admins = [each for principal in args.admins for each in self._admin(principal)]
        researchers = [
            self._entry(principal, [contract.RESEARCHERS_GROUP]) for principal in args.researchers
        ]
        self.ready = (*self._ways_in(), *admins, *researchers)
        self.register_outputs({})

    def _ways_in(self) -> list[pulumi.Resource]:
        return [
            aws.vpc.SecurityGroupIngressRule(
                f"{self._name}-from-{str(block).replace('/', '-')}",
                security_group_id=self._args.security_group_id,
                description="Kubernetes API from a private network",
                cidr_ipv4=str(block),
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                tags=dict(self._args.tags),
                opts=self._child,
            )
            for block in self._args.networks
        ]

    def _admin(self, principal: str) -> list[pulumi.Resource]:
        entry = self._entry(principal, [])
        grant = aws.eks.AccessPolicyAssociation(
            f"{self._name}-admin-{_key(principal)}",
            cluster_name=self._args.cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN_POLICY,
            access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=self._child,
        )
        return [entry, grant]

    def _entry(self, principal: str, groups: list[str]) -> aws.eks.AccessEntry:
        return aws.eks.AccessEntry(
            f"{self._name}-{_key(principal)}",
            cluster_name=self._args.cluster_name,
            principal_arn=principal,
            type="STANDARD",
            kubernetes_groups=groups,
            tags=dict(self._args.tags),
            opts=self._child,
        )


def _key(principal: str) -> str:
    """arn:aws:iam::123456789012:role/team/admin -> 123456789012-role/team/admin, so that no two
    principals share one."""
    return principal.split(":", 4)[4].replace(":", "-")
