"""Managed add-ons and identities of pods."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws import policies
from components.aws.addons.cluster_addons import ClusterAddOns, ClusterAddOnsArgs
from components.aws.addons.node_addons import NodeAddOns, NodeAddOnsArgs
from components.aws.pod_role import PodRole, PodRoleArgs
from components.aws.reference import ClusterReference
from spotrain import contract
from stacks.recorder import Recording

ADDON = "aws:eks/addon:Addon"
ARN = "arn:aws:eks:us-east-1:123456789012:cluster/mine"
MakeCluster = Callable[[], ClusterReference]


def node_addons(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], **versions: str
) -> Recording:
    recording: Recording = build(
        lambda: NodeAddOns(
            "node-addons", NodeAddOnsArgs(cluster=cluster(), versions=versions, tags=tags)
        )
    )
    return recording


def cluster_addons(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    def program() -> None:
        args = ClusterAddOnsArgs(cluster=cluster(), versions={}, after=(), tags=tags)
        ClusterAddOns("cluster-addons", args)

    recording: Recording = build(program)
    return recording


def settings_of(recording: Recording, addon: str) -> dict[str, Any]:
    """What an add-on is configured with."""
    (found,) = (a for a in recording.of_type(ADDON) if a.inputs["addonName"] == addon)
    values: dict[str, Any] = json.loads(found.inputs["configurationValues"])
    return values


def test_what_every_node_needs_is_installed(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    addons = {
        addon.inputs["addonName"] for addon in node_addons(build, cluster, tags).of_type(ADDON)
    }
    assert addons == {
        "vpc-cni",
        "kube-proxy",
        "eks-pod-identity-agent",
        "eks-node-monitoring-agent",
    }


def test_the_pod_network_comes_after_the_agent_that_gives_it_rights(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    network = find.one(node_addons(build, cluster, tags), ADDON, "node-addons-network-addon")
    assert any(urn.endswith("node-addons-identity-addon") for urn in network.depends_on)
    (association,) = network.inputs["podIdentityAssociations"]
    assert association["serviceAccount"] == "aws-node"


def test_network_policies_are_enforced(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    settings = settings_of(node_addons(build, cluster, tags), "vpc-cni")
    assert settings["enableNetworkPolicy"] == "true"


def test_what_sees_a_broken_gpu_runs_on_gpu_nodes(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    settings = settings_of(node_addons(build, cluster, tags), "eks-node-monitoring-agent")
    assert settings["dcgmAgent"]["tolerations"] == [
        {
            "key": contract.GPU_TAINT_KEY,
            "operator": "Exists",
            "effect": contract.GPU_TAINT_EFFECT,
        }
    ]


def test_a_version_is_set_exactly_when_it_is_pinned(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = node_addons(build, cluster, tags, **{"kube-proxy": "v1.36.0-eksbuild.2"})
    pinned = find.one(recording, ADDON, "node-addons-proxy-addon").inputs
    assert pinned["addonVersion"] == "v1.36.0-eksbuild.2"
    assert "addonVersion" not in find.one(recording, ADDON, "node-addons-network-addon").inputs


def test_dns_metrics_and_device_plugin_are_installed(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = cluster_addons(build, cluster, tags)
    addons = {addon.inputs["addonName"] for addon in recording.of_type(ADDON)}
    assert addons == {"coredns", "metrics-server"}
    plugin = find.one(recording, "kubernetes:apps/v1:DaemonSet")
    assert plugin.provider.endswith("kube-id")


def test_a_drain_or_a_lost_zone_leaves_dns_working(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    settings = settings_of(cluster_addons(build, cluster, tags), "coredns")
    (spread,) = settings["topologySpreadConstraints"]
    assert settings["replicaCount"] == 2
    assert spread["topologyKey"] == "topology.kubernetes.io/zone"
    assert spread["labelSelector"] == {"matchLabels": {"k8s-app": "kube-dns"}}
    assert settings["podDisruptionBudget"] == {"enabled": True, "maxUnavailable": 1}


def test_an_addon_with_a_deployment_waits_for_a_node_and_one_without_does_not(
    recording: Recording,
) -> None:
    """EKS waits for a Deployment's pods until it gives up; a DaemonSet has none without nodes."""
    waiting = {
        addon.inputs["addonName"]
        for addon in recording.of_type(ADDON)
        if any(urn.endswith("::managers-group") for urn in addon.depends_on)
    }
    everywhere = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "eks-node-monitoring-agent"}
    installed = {addon.inputs["addonName"] for addon in recording.of_type(ADDON)}
    assert waiting == installed - everywhere


def test_a_role_is_useless_to_any_other_pod(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    args = PodRoleArgs(cluster_arn=ARN, namespace="kube-system", service_account="mine", tags=tags)
    recording = build(lambda: PodRole("pod", args))
    (statement,) = find.policies(recording)["pod-role.assumeRolePolicy"]["Statement"]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {
        "aws:RequestTag/eks-cluster-arn": ARN,
        "aws:RequestTag/kubernetes-namespace": "kube-system",
        "aws:RequestTag/kubernetes-service-account": "mine",
    }


def test_a_wildcard_action_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="name every action"):
        policies.allow(["ec2:*"], ["*"])
