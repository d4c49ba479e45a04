"""Managers and GPU pools, as components by themselves."""

import base64
import json
from collections.abc import Callable, Mapping
from email import message_from_bytes
from typing import Any

import pytest

from components.aws.nodes.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.aws.nodes.managers import Managers, ManagersArgs, ManagersShape
from components.aws.nodes.node_role import NodeRole, NodeRoleArgs
from components.aws.nodes.node_template import NodeSize
from components.aws.reference import ClusterReference
from components.cloud import Pool
from spotrain import contract
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
NODE = NodeSize(cpu_millis=47810, memory_mib=178933, storage_gib=88)
GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
POOL = Pool(
    name="t4",
    gpu="t4",
    gpus_per_node=4,
    capacity="spot",
    zones=("us-east-1a", "us-east-1b"),
    instance_types=("g4dn.12xlarge",),
    max_nodes=8,
    notice_seconds=90,
    spot_usd_per_hour=1.0,
    on_demand_usd_per_hour=4.0,
)


def gpu_pool(
    build: Any,
    cluster: MakeCluster,
    tags: Mapping[str, str],
    pool: Pool = POOL,
    *,
    local_disks: bool = False,
) -> Recording:
    def args() -> GpuPoolArgs:
        return GpuPoolArgs(
            shape=PoolShape(pool=pool, disk_gib=100, node=NODE, local_disks=local_disks),
            cluster=cluster(),
            role_arn="role",
            subnet_ids={
                "us-east-1a": "subnet-a",
                "us-east-1b": "subnet-b",
                "us-east-1c": "subnet-c",
            },
            security_group_id="sg-cluster",
            after=(),
            tags=tags,
        )

    recording: Recording = build(lambda: GpuPool("gpu-t4", args()))
    return recording


def managers(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    def args() -> ManagersArgs:
        return ManagersArgs(
            shape=ManagersShape(
                instance_types=("m7i.large",), min_nodes=2, max_nodes=4, disk_gib=50
            ),
            cluster=cluster(),
            role_arn="role",
            subnet_ids=["subnet-a", "subnet-b"],
            after=(),
            tags=tags,
        )

    recording: Recording = build(lambda: Managers("managers", args()))
    return recording


def test_a_pool_is_one_group_per_zone_and_no_group_spans_zones(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    groups = gpu_pool(build, cluster, tags).of_type(GROUP)
    assert {g.name: g.inputs["subnetIds"] for g in groups} == {
        "gpu-t4-us-east-1a": ["subnet-a"],
        "gpu-t4-us-east-1b": ["subnet-b"],
    }


def test_a_pool_starts_at_zero_and_nobody_resets_its_size(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    for group in gpu_pool(build, cluster, tags).of_type(GROUP):
        assert group.inputs["scalingConfig"] == {"minSize": 0, "maxSize": 8, "desiredSize": 0}
        assert group.ignore_changes == ("scalingConfig.desiredSize",)


@pytest.mark.parametrize(("capacity", "expected"), [("spot", "SPOT"), ("on-demand", "ON_DEMAND")])
def test_a_pool_buys_what_it_says(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], capacity: str, expected: str
) -> None:
    pool = Pool(**{**vars(POOL), "capacity": capacity})
    groups = gpu_pool(build, cluster, tags, pool).of_type(GROUP)
    assert {g.inputs["capacityType"] for g in groups} == {expected}
    assert {g.inputs["labels"][contract.LABEL_CAPACITY] for g in groups} == {capacity}


def test_gpu_nodes_carry_the_contracts_taint_and_labels(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    group = gpu_pool(build, cluster, tags).of_type(GROUP)[0].inputs
    assert group["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    ]
    assert group["labels"] == {
        "spotrain.dev/pool": "t4",
        "spotrain.dev/gpu": "t4",
        "spotrain.dev/capacity": "spot",
        "spotrain.dev/role": "worker",
        "k8s.amazonaws.com/accelerator": "t4",
    }
    assert group["amiType"] == "AL2023_x86_64_NVIDIA"


def test_the_autoscaler_knows_a_group_that_has_no_node(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    prefix = "k8s.io/cluster-autoscaler/node-template"
    wanted = {
        f"{prefix}/label/spotrain.dev/pool": "t4",
        f"{prefix}/label/spotrain.dev/gpu": "t4",
        f"{prefix}/label/spotrain.dev/capacity": "spot",
        f"{prefix}/label/spotrain.dev/role": "worker",
        f"{prefix}/label/k8s.amazonaws.com/accelerator": "t4",
        f"{prefix}/taint/nvidia.com/gpu": "present:NoSchedule",
        f"{prefix}/resources/nvidia.com/gpu": "4",
        f"{prefix}/resources/cpu": "47810m",
        f"{prefix}/resources/memory": "178933Mi",
        f"{prefix}/resources/ephemeral-storage": "88Gi",
        "pool": "t4",
        **tags,
    }
    recording = gpu_pool(build, cluster, tags)
    for zone in POOL.zones:
        group = f"eks-gpu-t4-{zone}-0000"
        tagged = {
            tag.inputs["tag"]["key"]: tag.inputs["tag"]["value"]
            for tag in recording.of_type(TAG)
            if tag.inputs["autoscalingGroupName"] == group
        }
        assert tagged == wanted


def test_managers_are_on_demand_in_two_zones_and_take_any_pod(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    group = find.one(managers(build, cluster, tags), GROUP)
    assert group.inputs["capacityType"] == "ON_DEMAND"
    assert group.inputs["subnetIds"] == ["subnet-a", "subnet-b"]
    assert group.inputs["labels"] == {contract.LABEL_ROLE: contract.ROLE_MANAGER}
    assert "taints" not in group.inputs
    assert group.ignore_changes == ("scalingConfig.desiredSize",)


@pytest.mark.parametrize("component", [gpu_pool, managers])
def test_pods_cannot_reach_the_nodes_credentials_and_disks_are_encrypted(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any, component: Any
) -> None:
    template = find.one(component(build, cluster, tags), TEMPLATE).inputs
    assert template["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    (disk,) = template["blockDeviceMappings"]
    assert disk["ebs"]["encrypted"] == "true"
    assert disk["ebs"]["volumeType"] == "gp3"


@pytest.mark.parametrize(("component", "pool"), [(gpu_pool, "t4"), (managers, "managers")])
def test_instances_and_their_disks_are_found_on_the_bill_by_their_pool(
    build: Any,
    cluster: MakeCluster,
    tags: Mapping[str, str],
    find: Any,
    component: Any,
    pool: str,
) -> None:
    template = find.one(component(build, cluster, tags), TEMPLATE).inputs
    kinds = {spec["resourceType"]: spec["tags"] for spec in template["tagSpecifications"]}
    assert kinds.keys() == {"instance", "volume", "network-interface"}
    wanted = {**tags, "pool": pool}.items()
    assert all(wanted <= given.items() for given in kinds.values())


@pytest.mark.parametrize("component", [gpu_pool, managers])
def test_nobody_can_log_in_and_eks_chooses_what_it_must(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any, component: Any
) -> None:
    """EKS refuses a template that names subnets, a role or a shutdown behaviour."""
    template = find.one(component(build, cluster, tags), TEMPLATE).inputs
    assert template.keys() == {
        "blockDeviceMappings",
        "metadataOptions",
        "monitoring",
        "tagSpecifications",
        "tags",
    }
    assert template["monitoring"] == {"enabled": False}


def test_an_update_of_gpu_nodes_starts_no_node_beside_the_old_one(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    for group in gpu_pool(build, cluster, tags).of_type(GROUP):
        assert group.inputs["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
    manager = find.one(managers(build, cluster, tags), GROUP).inputs
    assert manager["updateConfig"] == {"maxUnavailable": 1}


@pytest.mark.parametrize("component", [gpu_pool, managers])
def test_broken_nodes_are_repaired(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], component: Any
) -> None:
    groups = component(build, cluster, tags).of_type(GROUP)
    assert [g.inputs["nodeRepairConfig"] for g in groups] == [{"enabled": True}] * len(groups)


def test_images_lie_on_a_root_disk_that_is_faster_than_the_free_one(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    def disk(recording: Recording) -> dict[str, Any]:
        (mapping,) = find.one(recording, TEMPLATE).inputs["blockDeviceMappings"]
        ebs: dict[str, Any] = mapping["ebs"]
        return ebs

    assert disk(gpu_pool(build, cluster, tags))["throughput"] == 250
    assert disk(gpu_pool(build, cluster, tags, local_disks=True))["throughput"] == 125
    assert disk(managers(build, cluster, tags))["throughput"] == 125


def test_local_disks_are_joined_by_the_nodes_own_set_up(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    """A MIME part that nodeadm reads; EKS appends its own."""
    recording = gpu_pool(build, cluster, tags, local_disks=True)
    message = message_from_bytes(base64.b64decode(find.one(recording, TEMPLATE).inputs["userData"]))
    assert message.is_multipart()
    (part,) = (each for each in message.walk() if not each.is_multipart())
    assert part.get_content_type() == "application/node.eks.aws"
    assert json.loads(str(part.get_payload())) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }
    assert "userData" not in find.one(gpu_pool(build, cluster, tags), TEMPLATE).inputs


def test_nodes_may_join_and_pull_images_and_nothing_else(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    recording = build(lambda: NodeRole("nodes", NodeRoleArgs(tags=tags)))
    attached = recording.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    assert {a.inputs["policyArn"].rsplit("/", 1)[1] for a in attached} == {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
    }
    assert recording.of_type("aws:iam/rolePolicy:RolePolicy") == []
