"""Add-ons that are nothing but DaemonSets: there before any node is.

All tolerate every taint by default (charts aws-vpc-cni, eks-pod-identity-agent and
eks-node-monitoring-agent: `operator: Exists`), so they also run on GPU nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws.addons.addon import AddOn, AddOnArgs, Rights
from components.aws.reference import ClusterReference
from spotrain import contract

CNI_SETTINGS = {
    # For the network policies of the job namespace, and those that the controller makes per job.
    "enableNetworkPolicy": "true",
    # A node takes the addresses that it needs plus a few, not a whole interface's worth at once:
    # contract.ADDRESSES_PER_NODE counts on it.
    "env": {"MINIMUM_IP_TARGET": "16", "WARM_IP_TARGET": "4"},
}
"""Keys: values.yaml of the chart aws-vpc-cni; the add-on's schema has them as strings."""
CNI_RIGHTS = Rights(managed_policies={"cni": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"})
MONITORING_SETTINGS = {
    # The part that reads a GPU's health is a DaemonSet of its own, and tolerates nothing unless
    # told: on our tainted nodes a broken GPU would never be seen, nor its node repaired.
    "dcgmAgent": {
        "tolerations": [
            {
                "key": contract.GPU_TAINT_KEY,
                "operator": "Exists",
                "effect": contract.GPU_TAINT_EFFECT,
            }
        ]
    }
}
"""Keys: charts/configuration.schema.json of aws/eks-node-monitoring-agent, 1.6 and later."""


@dataclass(frozen=True, kw_only=True)
class NodeAddOnsArgs:
    cluster: ClusterReference
    versions: Mapping[str, str]
    """Add-on -> version; EKS chooses for one that is not here."""
    tags: Mapping[str, str]


class NodeAddOns(pulumi.ComponentResource):
    """Pod identities, pod network, Service network, and what decides on the repair of a node.

    The order is theirs: without the identity agent the pod network has no right to attach an
    address, and without a pod network no node is ready.
    """

    ready: tuple[pulumi.Resource, ...]
    """What a node needs to become ready."""

    def __init__(
        self, name: str, args: NodeAddOnsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:NodeAddOns", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)

        def add(role: str, addon: str, **more: Any) -> aws.eks.Addon:
            version = args.versions.get(addon)
            wanted = AddOnArgs(
                addon=addon, version=version, cluster=args.cluster, tags=args.tags, **more
            )
            return AddOn(f"{name}-{role}", wanted, child).addon

        identity = add("identity", "eks-pod-identity-agent")
        proxy = add("proxy", "kube-proxy")
        network = add(
            "network",
            "vpc-cni",
            configuration=CNI_SETTINGS,
            rights={"aws-node": CNI_RIGHTS},
            after=(identity,),
        )
        add("monitoring", "eks-node-monitoring-agent", configuration=MONITORING_SETTINGS)
        self.ready = (identity, proxy, network)
        self.register_outputs({})
