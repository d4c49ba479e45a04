"""What cluster-autoscaler may do, in AWS and in Kubernetes; data only."""

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.aws import policies
from components.aws.autoscaler.flags import DISCOVERY_TAG

READ = ("get", "list", "watch")


def aws_statements(
    cluster_name: pulumi.Output[str], cluster_arn: pulumi.Output[str]
) -> list[dict[str, Any]]:
    """See scaling groups and instance types; change only the groups of this cluster.

    The actions of "Full Cluster Autoscaler Features" in cloudprovider/aws/README.md of 1.36.1.
    """
    own_groups = cluster_name.apply(
        lambda name: {f"aws:ResourceTag/{DISCOVERY_TAG}/{name}": "owned"}
    )
    node_groups = cluster_arn.apply(lambda arn: arn.replace(":cluster/", ":nodegroup/") + "/*/*")
    return [
        policies.allow(
            [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeLaunchConfigurations",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:GetInstanceTypesFromInstanceRequirements",
            ],
            ["*"],  # AWS knows no narrower resource for these
        ),
        policies.allow(["eks:DescribeNodegroup"], [node_groups]),
        {
            **policies.allow(
                [
                    "autoscaling:SetDesiredCapacity",
                    "autoscaling:TerminateInstanceInAutoScalingGroup",
                ],
                ["*"],  # narrowed by the tag: the groups' names are AWS's to choose
            ),
            "Condition": {"StringEquals": own_groups},
        },
    ]


def cluster_rules() -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Nodes, what runs on them and what its scheduler simulation reads.

    Within the chart's rules at 1.36.1, less what belongs to features that are off or gone: buffers
    and provisioning requests, locks in endpoints, the old `extensions` group, other namespaces'
    ConfigMaps.
    """
    return [
        _rule("", ["events"], ["create", "patch"]),
        _rule("", ["pods/eviction"], ["create"]),
        _rule("", ["nodes"], [*READ, "update"]),
        _rule(
            "",
            [
                "namespaces",
                "pods",
                "services",
                "replicationcontrollers",
                "persistentvolumeclaims",
                "persistentvolumes",
            ],
            READ,
        ),
        _rule("apps", ["daemonsets", "replicasets", "statefulsets"], READ),
        _rule("batch", ["jobs", "cronjobs"], READ),
        _rule("policy", ["poddisruptionbudgets"], ["list", "watch"]),
        _rule(
            "storage.k8s.io",
            [
                "csidrivers",
                "csinodes",
                "csistoragecapacities",
                "storageclasses",
                "volumeattachments",
            ],
            READ,
        ),
        _rule("resource.k8s.io", ["deviceclasses", "resourceclaims", "resourceslices"], READ),
    ]


def namespace_rules(lock: str, config_maps: list[str]) -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """Its lock, its status and its priorities, in its own namespace."""
    return [
        _rule("", ["configmaps"], ["create", "list", "watch"]),
        _rule("", ["configmaps"], ["delete", "get", "update", "watch"], only=config_maps),
        _rule("coordination.k8s.io", ["leases"], ["create"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "update"], only=[lock]),
    ]


def _rule(
    group: str,
    resources: list[str],
    verbs: list[str] | tuple[str, ...],
    *,
    only: list[str] | None = None,
) -> k8s.rbac.v1.PolicyRuleArgs:
    return k8s.rbac.v1.PolicyRuleArgs(
        api_groups=[group], resources=resources, verbs=list(verbs), resource_names=only
    )
