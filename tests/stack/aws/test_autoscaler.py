"""cluster-autoscaler, as a component by itself."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import yaml

from components.aws.autoscaler import (
    IMAGES,
    Autoscaler,
    AutoscalerArgs,
    AutoscalerShape,
    flags,
    priorities,
)
from components.aws.reference import ClusterReference
from stacks.recorder import Recording

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
SHAPE = AutoscalerShape(idle_minutes=10, provision_minutes=5)
MakeCluster = Callable[[], ClusterReference]


def autoscaler(
    build: Any,
    cluster: MakeCluster,
    tags: Mapping[str, str],
    on_demand: Sequence[str] = ("asg-od",),
) -> Recording:
    def program() -> None:
        args = AutoscalerArgs(
            shape=SHAPE,
            cluster=cluster(),
            spot_groups=["asg-spot"],
            on_demand_groups=on_demand,
            after=(),
            tags=tags,
        )
        Autoscaler("autoscaler", args)

    recording: Recording = build(program)
    return recording


def container(recording: Recording, find: Any) -> dict[str, Any]:
    pod = find.one(recording, DEPLOYMENT).inputs["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    return dict(only)


def test_it_is_the_clusters_minor_version_by_digest(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    assert container(autoscaler(build, cluster, tags), find)["image"] == IMAGES["1.36"]
    for version, image in IMAGES.items():
        assert f":v{version}." in image
        assert "@sha256:" in image


def test_it_gets_its_region_by_environment_and_its_rights_by_pod_identity(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = autoscaler(build, cluster, tags)
    assert container(recording, find)["env"] == [{"name": "AWS_REGION", "value": "us-east-1"}]
    identity = find.one(recording, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    pod = find.one(recording, DEPLOYMENT).inputs["spec"]["template"]["spec"]
    assert identity["serviceAccount"] == pod["serviceAccountName"]
    assert identity["namespace"] == "kube-system"


def test_the_pod_starts_after_its_identity(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    after = find.one(autoscaler(build, cluster, tags), DEPLOYMENT).depends_on
    assert any("podIdentityAssociation" in urn for urn in after)


def test_it_changes_only_the_groups_of_its_own_cluster(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    statements = find.policies(autoscaler(build, cluster, tags))[
        "autoscaler-identity-policy.policy"
    ]["Statement"]
    changing = [s for s in statements if any("Set" in a or "Terminate" in a for a in s["Action"])]
    assert [s["Condition"] for s in changing] == [
        {"StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/mine": "owned"}}
    ]
    seeing = next(s for s in statements if s["Action"] == ["eks:DescribeNodegroup"])
    assert seeing["Resource"] == ["arn:aws:eks:us-east-1:123456789012:nodegroup/mine/*/*"]


@pytest.mark.parametrize(
    "flag",
    [
        "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,"
        "k8s.io/cluster-autoscaler/mine",
        "--expander=priority,least-waste",
        "--scale-down-unneeded-time=10m",
        "--max-node-provision-time=5m",
        "--skip-nodes-with-local-storage=false",
        "--skip-nodes-with-system-pods=false",
    ],
)
def test_a_flag_that_scaling_to_zero_rests_on_is_set(flag: str) -> None:
    assert flag in flags("mine", SHAPE)


def test_spot_is_tried_before_on_demand_before_anything_else() -> None:
    ranked = yaml.safe_load(priorities(["asg-spot"], ["asg-od"]))
    assert ranked == {30: ["^asg-spot$"], 20: ["^asg-od$"], 10: [".*"]}


def test_without_on_demand_pools_there_is_no_empty_rank(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    config = find.one(
        autoscaler(build, cluster, tags, on_demand=()), "kubernetes:core/v1:ConfigMap"
    )
    assert yaml.safe_load(config.inputs["data"]["priorities"]).keys() == {30, 10}
