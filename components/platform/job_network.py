"""What pods in the job namespace may connect to.

Everything is refused that no policy allows. These policies hold for every pod of the namespace; who
may connect to a worker says the policy that the controller makes for each job: its siblings.

On clusters whose pod network applies policies only after a pod has begun (some do, one to two
seconds later), a pod's first moments are open. So nothing here is the only lock
on a door: the node's metadata answers one hop only, and the coordinator asks for a token. And a
worker reaches its siblings and the coordinator as long after its start as their side needs to learn
its address; agents try again until then.
"""

from collections.abc import Mapping
from typing import Literal, assert_never

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Endpoint
from spotrain import contract

Egress = Literal["https", "all", "none"]
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""The API server puts it on every namespace."""
PREFIX = "spotrain."
"""A job's policy has the job's name, and no job can have a dot in it. Without one, a job of the
right name would have the controller replace a policy of ours."""
LINK_LOCAL = "169.254.0.0/16"
"""The node's metadata, which hands out the node's credentials, and its like on every cloud."""
PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")
"""Where every cluster has its nodes, pods, services and API server, and a company what is its own.
Which of these are the cluster's, the platform does not know; so none of them is outside."""
ANYWHERE = "0.0.0.0/0"

Spec = k8s.networking.v1.NetworkPolicySpecArgs
Peer = k8s.networking.v1.NetworkPolicyPeerArgs
Port = k8s.networking.v1.NetworkPolicyPortArgs
Rule = k8s.networking.v1.NetworkPolicyEgressRuleArgs
Labels = k8s.meta.v1.LabelSelectorArgs
EVERY_POD = Labels()


def policies(egress: Egress, credentials: Endpoint | None = None) -> Mapping[str, Spec]:
    """Name -> policy. `credentials`: where jobs get their identity at the cloud, if they do."""
    allowed = {
        "dns": Rule(
            to=[pods_in("kube-system", {"k8s-app": "kube-dns"})],
            ports=[Port(protocol=protocol, port=53) for protocol in ("UDP", "TCP")],
        ),
        # Both ends must agree: whose siblings these are is decided where they are called.
        "siblings": Rule(to=[Peer(pod_selector=EVERY_POD)]),
        "coordinator": Rule(
            to=[
                pods_in(
                    contract.SYSTEM_NAMESPACE, {"app.kubernetes.io/name": contract.CONTROLLER_NAME}
                )
            ],
            ports=[Port(protocol="TCP", port=contract.COORDINATOR_PORT)],
        ),
    }
    if credentials:
        allowed["credentials"] = Rule(
            to=[Peer(ip_block=k8s.networking.v1.IPBlockArgs(cidr=credentials.cidr))],
            ports=[Port(protocol="TCP", port=credentials.port)],
        )
    outside = _outside(egress)
    if outside:
        allowed["outside"] = outside
    refused = Spec(pod_selector=EVERY_POD, policy_types=["Ingress", "Egress"])
    return {f"{PREFIX}default-deny": refused} | {
        f"{PREFIX}{name}": Spec(pod_selector=EVERY_POD, policy_types=["Egress"], egress=[rule])
        for name, rule in allowed.items()
    }


def pods_in(namespace: pulumi.Input[str], labels: Mapping[str, str]) -> Peer:
    """Pods with the labels in a namespace."""
    return Peer(
        namespace_selector=Labels(match_labels={NAMESPACE_LABEL: namespace}),
        pod_selector=Labels(match_labels=dict(labels)),
    )


def _outside(egress: Egress) -> Rule | None:
    match egress:
        case "none":
            return None
        case "https":
            return Rule(
                to=[anywhere_but(LINK_LOCAL, *PRIVATE)], ports=[Port(protocol="TCP", port=443)]
            )
        case "all":
            return Rule(to=[anywhere_but(LINK_LOCAL)])
        case _:
            assert_never(egress)


def anywhere_but(*blocks: str) -> Peer:
    return Peer(ip_block=k8s.networking.v1.IPBlockArgs(cidr=ANYWHERE, except_=list(blocks)))
