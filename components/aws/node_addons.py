"""Add-ons that a node needs before it can be ready."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.aws.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference

CNI_SETTINGS = {
    # For the network policies of the job namespace, and those that the controller makes per job.
    "enableNetworkPolicy": "true",
    # A node takes the addresses that it needs plus a few, not a whole interface's worth at once:
    # subnets.ADDRESSES_PER_NODE counts on it.
    "env": {"MINIMUM_IP_TARGET": "16", "WARM_IP_TARGET": "4"},
}
CNI_RIGHTS = Rights(managed_policies={"cni": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"})


@dataclass(frozen=True, kw_only=True)
class NodeAddOnsArgs:
    cluster: ClusterReference
    versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
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
        child = pulumi.ResourceOptions(parent=self)

        def arguments(addon: str) -> AddOnArgs:
            version = args.versions.get(addon)
            return AddOnArgs(addon=addon, version=version, cluster=args.cluster, tags=args.tags)

        identity = AddOn(f"{name}-identity", arguments("eks-pod-identity-agent"), child).addon
        proxy = AddOn(f"{name}-proxy", arguments("kube-proxy"), child).addon
        network = AddOn(
            f"{name}-network",
            AddOnArgs(
                addon="vpc-cni",
                version=args.versions.get("vpc-cni"),
                cluster=args.cluster,
                configuration=CNI_SETTINGS,
                rights={"aws-node": CNI_RIGHTS},
                after=(identity,),
                tags=args.tags,
            ),
            child,
        ).addon
        self.ready = (identity, proxy, network)
        self.register_outputs({})
