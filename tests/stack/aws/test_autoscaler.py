"""cluster-autoscaler, as a component by itself."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from components.aws.autoscaler.autoscaler import IMAGES, Autoscaler, AutoscalerArgs
from components.aws.autoscaler.flags import AutoscalerShape, flags, priorities
from components.aws.reference import ClusterReference
from spotrain.job.spec import Placement
from stacks.recorder import Recording

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
CLUSTER_ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:Role"
SHAPE = AutoscalerShape(idle_minutes=10, provision_minutes=5)
UPSTREAM_CLUSTER_RULES = """
core events create patch
core pods/eviction create
core nodes get list watch update
core namespaces,pods,services,replicationcontrollers get list watch
core persistentvolumeclaims,persistentvolumes get list watch
apps daemonsets,replicasets,statefulsets get list watch
batch jobs,cronjobs get list watch
policy poddisruptionbudgets list watch
storage.k8s.io csidrivers,csinodes,csistoragecapacities get list watch
storage.k8s.io storageclasses,volumeattachments get list watch
resource.k8s.io deviceclasses,resourceclaims,resourceslices get list watch
"""
"""charts/cluster-autoscaler/templates/clusterrole.yaml of 1.36.1, less: endpoints (the lock is a
lease), pods/status, podtemplates and provisioningrequests (nothing that is on uses them), patching
jobs, `extensions` (gone), ConfigMaps of all namespaces, and leases, which are in the Role."""
UPSTREAM_ACTIONS = {
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
}
"""cloudprovider/aws/README.md of 1.36.1, Full Cluster Autoscaler Features Policy."""
MakeCluster = Callable[[], ClusterReference]
Right = tuple[str, str, str]


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


@pytest.fixture
def built(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    return autoscaler(build, cluster, tags)


@pytest.fixture
def pod(built: Recording, find: Any) -> dict[str, Any]:
    return dict(find.one(built, DEPLOYMENT).inputs["spec"]["template"]["spec"])


@pytest.fixture
def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["containers"]
    return dict(only)


def rights(rules: Sequence[Mapping[str, Any]]) -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, resource, verb


def upstream() -> Iterator[Right]:
    for line in UPSTREAM_CLUSTER_RULES.strip().splitlines():
        group, resources, *verbs = line.split()
        rule = {
            "apiGroups": [group.replace("core", "")],
            "resources": resources.split(","),
            "verbs": verbs,
        }
        yield from rights([rule])


def test_it_is_the_clusters_minor_version_by_digest(container: dict[str, Any]) -> None:
    assert container["image"] == IMAGES["1.36"]
    for version, image in IMAGES.items():
        assert re.search(rf":v{re.escape(version)}\.\d+@sha256:[0-9a-f]{{64}}$", image)


def test_it_gets_its_region_by_environment_and_its_rights_by_pod_identity(
    built: Recording, container: dict[str, Any], pod: dict[str, Any], find: Any
) -> None:
    assert container["env"] == [{"name": "AWS_REGION", "value": "us-east-1"}]
    identity = find.one(built, "aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert identity["serviceAccount"] == pod["serviceAccountName"]
    assert identity["namespace"] == "kube-system"


def test_the_pod_starts_after_its_identity_and_its_rights(built: Recording, find: Any) -> None:
    after = " ".join(find.one(built, DEPLOYMENT).depends_on)
    assert "podIdentityAssociation" in after
    assert "ClusterRoleBinding" in after
    assert "::autoscaler-access-own" in after


def test_it_may_do_in_aws_what_upstream_asks_for_and_no_more(built: Recording, find: Any) -> None:
    statements = find.policies(built)["autoscaler-identity-policy.policy"]["Statement"]
    assert {action for s in statements for action in s["Action"]} == UPSTREAM_ACTIONS


def test_it_changes_only_the_groups_of_its_own_cluster(built: Recording, find: Any) -> None:
    statements = find.policies(built)["autoscaler-identity-policy.policy"]["Statement"]
    changing = [s for s in statements if any("Set" in a or "Terminate" in a for a in s["Action"])]
    assert [s["Condition"] for s in changing] == [
        {"StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/mine": "owned"}}
    ]
    seeing = next(s for s in statements if s["Action"] == ["eks:DescribeNodegroup"])
    assert seeing["Resource"] == ["arn:aws:eks:us-east-1:123456789012:nodegroup/mine/*/*"]


def test_its_rights_in_the_cluster_are_upstreams(built: Recording, find: Any) -> None:
    given = find.one(built, CLUSTER_ROLE).inputs["rules"]
    assert set(rights(given)) == set(upstream())


def test_it_writes_only_its_own_lock_status_and_priorities(built: Recording, find: Any) -> None:
    rules = find.one(built, ROLE).inputs["rules"]
    writes = {
        (resource, name)
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb in ("update", "patch", "delete")
        for name in rule.get("resourceNames", ["anything"])
    }
    assert writes == {
        ("configmaps", "cluster-autoscaler-status"),
        ("configmaps", "cluster-autoscaler-priority-expander"),
        ("leases", "cluster-autoscaler"),
    }


def test_a_lost_zone_leaves_one_and_a_drain_is_never_blocked(
    built: Recording, pod: dict[str, Any], find: Any
) -> None:
    deployment = find.one(built, DEPLOYMENT).inputs["spec"]
    budget = find.one(built, "kubernetes:policy/v1:PodDisruptionBudget").inputs["spec"]
    spread = {c["topologyKey"]: c["whenUnsatisfiable"] for c in pod["topologySpreadConstraints"]}
    assert deployment["replicas"] == 2
    assert "topology.kubernetes.io/zone" in spread
    assert set(spread.values()) == {"ScheduleAnyway"}
    assert budget["maxUnavailable"] < deployment["replicas"]
    assert budget["selector"] == deployment["selector"]


def test_it_never_runs_on_a_gpu_node(pod: dict[str, Any]) -> None:
    assert "tolerations" not in pod


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
        "--skip-nodes-with-custom-controller-pods=true",
    ],
)
def test_a_flag_that_scaling_to_zero_rests_on_is_set(flag: str) -> None:
    assert flag in flags("mine", SHAPE)


def test_jobs_elsewhere_do_not_keep_an_idle_node() -> None:
    """The delay after an addition is counted for the whole cluster."""
    assert "--scale-down-delay-after-add=0s" in flags("mine", SHAPE)


def test_a_zone_without_capacity_is_tried_again_within_a_jobs_stay() -> None:
    given = dict(flag.removeprefix("--").split("=", 1) for flag in flags("mine", SHAPE))
    first, longest = (
        int(given[f"{end}-node-group-backoff-duration"].removesuffix("m"))
        for end in ("initial", "max")
    )
    assert first < longest <= Placement().move_after_seconds / 60


def test_spot_is_tried_before_on_demand_before_anything_else() -> None:
    ranked = yaml.safe_load(priorities(["asg-spot"], ["asg-od"]))
    assert ranked == {30: ["^asg-spot$"], 20: ["^asg-od$"], 10: [".*"]}


def test_without_on_demand_pools_there_is_no_empty_rank(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    built = autoscaler(build, cluster, tags, on_demand=())
    ranks = find.one(built, "kubernetes:core/v1:ConfigMap").inputs
    assert ranks["metadata"]["name"] == "cluster-autoscaler-priority-expander"
    assert yaml.safe_load(ranks["data"]["priorities"]).keys() == {30, 10}
