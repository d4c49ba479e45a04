"""Who may connect to the platform's own pods.

Connections from them stay open: the controller needs the API server, the price refresher a cloud's
API, and neither has an address that is known here or stays the same. They run our image only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.platform.controller_pod import LABELS as CONTROLLER
from components.platform.job_network import pods_in
from spotrain import contract

WORKERS = {contract.LABEL_GROUP: contract.GROUP}

Spec = k8s.networking.v1.NetworkPolicySpecArgs
Peer = k8s.networking.v1.NetworkPolicyPeerArgs
Labels = k8s.meta.v1.LabelSelectorArgs


@dataclass(frozen=True, kw_only=True)
class SystemNetworkArgs:
    job_namespace: pulumi.Input[str]
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """The system namespace."""


class SystemNetwork(pulumi.ComponentResource):
    """Policies of the system namespace. Probes arrive from the node, which is always allowed."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: SystemNetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:SystemNetwork", name, {}, opts)
        child = pulumi.ResourceOptions(
            parent=self, provider=args.kubernetes, depends_on=list(args.after)
        )
        self.ready = tuple(
            k8s.networking.v1.NetworkPolicy(
                f"{name}-{policy}",
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=policy, namespace=contract.SYSTEM_NAMESPACE
                ),
                spec=spec,
                opts=child,
            )
            for policy, spec in policies(args.job_namespace).items()
        )
        self.register_outputs({})


def policies(job_namespace: pulumi.Input[str]) -> Mapping[str, Spec]:
    """Name -> policy."""
    return {
        "default-deny": Spec(pod_selector=Labels(), policy_types=["Ingress"]),
        "agents": _allow(pods_in(job_namespace, WORKERS), contract.COORDINATOR_PORT),
        "metrics": _allow(pods_in(contract.MONITORING_NAMESPACE, {}), contract.METRICS_PORT),
    }


def _allow(peer: Peer, port: int) -> Spec:
    """Lets somebody in to one port of the controller."""
    rule = k8s.networking.v1.NetworkPolicyIngressRuleArgs(
        from_=[peer],
        ports=[k8s.networking.v1.NetworkPolicyPortArgs(protocol="TCP", port=port)],
    )
    return Spec(
        pod_selector=Labels(match_labels=CONTROLLER), policy_types=["Ingress"], ingress=[rule]
    )
