"""One managed add-on of EKS, with the AWS rights of its pods."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference


@dataclass(frozen=True, kw_only=True)
class Rights:
    """What the pods of one service account may do in AWS."""

    statements: Sequence[Mapping[str, Any]] = ()
    """As `policies.allow` makes them."""
    managed_policies: Mapping[str, str] = field(default_factory=dict)
    """Name -> ARN of policies that AWS writes."""


@dataclass(frozen=True, kw_only=True)
class AddOnArgs:
    addon: str
    """The name that EKS knows."""
    version: str | None
    """None: EKS picks its default for the Kubernetes version, once."""
    cluster: ClusterReference
    namespace: str = "kube-system"
    """Where the add-on puts its pods."""
    configuration: Mapping[str, Any] | None = None
    """Values by the add-on's own schema (aws eks describe-addon-configuration)."""
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """Service account -> what its pods may do."""
    after: Sequence[pulumi.Resource] = ()
    tags: Mapping[str, str]


class AddOn(pulumi.ComponentResource):
    """A managed add-on; nobody but this program changes its settings."""

    addon: aws.eks.Addon

    def __init__(
        self, name: str, args: AddOnArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:AddOn", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        roles = {
            account: PodRole(
                f"{name}-{account}",
                PodRoleArgs(
                    cluster_arn=args.cluster.arn,
                    namespace=args.namespace,
                    service_account=account,
                    statements=rights.statements,
                    managed_policies=rights.managed_policies,
                    tags=args.tags,
                ),
                child,
            )
            for account, rights in args.rights.items()
        }
        ready = [right for role in roles.values() for right in role.ready]
        values = args.configuration
        self.addon = aws.eks.Addon(
            f"{name}-addon",
            addon_name=args.addon,
            addon_version=args.version,
            cluster_name=args.cluster.name,
            configuration_values=json.dumps(values, sort_keys=True) if values else None,
            pod_identity_associations=[
                aws.eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=account)
                for account, role in roles.items()
            ]
            or None,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions.merge(
                child, pulumi.ResourceOptions(depends_on=[*args.after, *ready])
            ),
        )
        self.register_outputs({})
