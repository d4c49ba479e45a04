"""Add-ons that a node needs before it can be ready."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.aws.pod_role import PodRole, PodRoleArgs

CNI_SETTINGS = {
    # For the network policies that the controller makes per job.
    "enableNetworkPolicy": "true",
    # A node takes the addresses that it needs plus a few, not a whole interface's worth at once:
    # subnets.ADDRESSES_PER_NODE counts on it.
    "env": {"MINIMUM_IP_TARGET": "16", "WARM_IP_TARGET": "4"},
}


@dataclass(frozen=True, kw_only=True)
class NodeAddOnsArgs:
    cluster_name: pulumi.Input[str]
    cluster_arn: pulumi.Input[str]
    versions: Mapping[str, str]
    """Add-on -> version, where somebody pinned it."""
    tags: Mapping[str, str]


class NodeAddOns(pulumi.ComponentResource):
    """Pod network, Service network and pod identities: DaemonSets, installed before any node.

    The order is theirs: without the identity agent the pod network has no right to attach an
    address, and without a pod network no node is ready.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: NodeAddOnsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:NodeAddOns", name, {}, opts)
        self._name, self._args = name, args
        identity = self._addon("eks-pod-identity-agent")
        proxy = self._addon("kube-proxy")
        role = PodRole(
            f"{name}-cni",
            PodRoleArgs(
                cluster_arn=args.cluster_arn,
                namespace="kube-system",
                service_account="aws-node",
                managed_policies={"cni": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"},
                tags=args.tags,
            ),
            pulumi.ResourceOptions(parent=self),
        )
        network = aws.eks.Addon(
            f"{name}-vpc-cni",
            addon_name="vpc-cni",
            addon_version=args.versions.get("vpc-cni"),
            cluster_name=args.cluster_name,
            configuration_values=json.dumps(CNI_SETTINGS, sort_keys=True),
            pod_identity_associations=[
                aws.eks.AddonPodIdentityAssociationArgs(
                    role_arn=role.arn, service_account="aws-node"
                )
            ],
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(args.tags),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[identity, *role.ready]),
        )
        self.ready = (identity, proxy, network)
        self.register_outputs({})

    def _addon(self, addon: str) -> aws.eks.Addon:
        return aws.eks.Addon(
            f"{self._name}-{addon}",
            addon_name=addon,
            addon_version=self._args.versions.get(addon),
            cluster_name=self._args.cluster_name,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=dict(self._args.tags),
            opts=pulumi.ResourceOptions(parent=self),
        )
