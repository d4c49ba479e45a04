"""Who cluster-autoscaler is in Kubernetes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.aws.autoscaler import rights
from components.aws.reference import ClusterReference

RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, kw_only=True)
class AutoscalerAccessArgs:
    cluster: ClusterReference
    account: str
    """Name of the service account, and of the lock by which its replicas elect a leader."""
    namespace: str
    config_maps: tuple[str, ...]
    """That it writes."""
    labels: Mapping[str, str]


class AutoscalerAccess(pulumi.ComponentResource):
    """A service account with a cluster role, and with a role in its own namespace."""

    account: k8s.core.v1.ServiceAccount
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: AutoscalerAccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:AutoscalerAccess", name, {}, opts)
        kube = pulumi.ResourceOptions(parent=self, provider=args.cluster.kubernetes)
        own = k8s.meta.v1.ObjectMetaArgs(
            name=args.account, namespace=args.namespace, labels=args.labels
        )
        self.account = k8s.core.v1.ServiceAccount(f"{name}-account", metadata=own, opts=kube)
        subject = k8s.rbac.v1.SubjectArgs(
            kind="ServiceAccount", name=self.account.metadata.name, namespace=args.namespace
        )
        cluster_role = k8s.rbac.v1.ClusterRole(
            f"{name}-cluster",
            metadata=k8s.meta.v1.ObjectMetaArgs(name=args.account, labels=args.labels),
            rules=rights.cluster_rules(),
            opts=kube,
        )
        role = k8s.rbac.v1.Role(
            f"{name}-own",
            metadata=own,
            rules=rights.namespace_rules(args.account, list(args.config_maps)),
            opts=kube,
        )
        self.ready = (
            k8s.rbac.v1.ClusterRoleBinding(
                f"{name}-cluster",
                role_ref=k8s.rbac.v1.RoleRefArgs(
                    api_group=RBAC, kind="ClusterRole", name=cluster_role.metadata.name
                ),
                subjects=[subject],
                opts=kube,
            ),
            k8s.rbac.v1.RoleBinding(
                f"{name}-own",
                metadata=k8s.meta.v1.ObjectMetaArgs(namespace=args.namespace),
                role_ref=k8s.rbac.v1.RoleRefArgs(
                    api_group=RBAC, kind="Role", name=role.metadata.name
                ),
                subjects=[subject],
                opts=kube,
            ),
        )
        self.register_outputs({})
