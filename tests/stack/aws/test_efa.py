"""Pools with Elastic Fabric Adapters."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from kubernetes_validate import validate

from components.aws.nodes.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.aws.nodes.node_template import EFA_LABEL, EFA_RESOURCE, NODE_TEMPLATE, NodeSize
from components.aws.reference import ClusterReference
from components.cloud import Pool
from components.manifest import FOLDER, read_manifest
from spotrain import contract
from stacks.pages.stacks import QUARRY, recording_of
from stacks.recorder import Recording
from stacks.stack_file import stack_names
from tests.stack.invariants.registry import pod_of

MakeCluster = Callable[[], ClusterReference]
GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"
TEMPLATE, PLACEMENT = (
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/placementGroup:PlacementGroup",
)
PLUGIN = "efa-plugin-efa-device-plugin"
ZONES = ("us-east-1a", "us-east-1b")
POOL = Pool(
    name="a100",
    gpu="a100",
    gpus_per_node=8,
    capacity="spot",
    zones=ZONES,
    instance_types=("p4d.24xlarge",),
    max_nodes=4,
    notice_seconds=90,
    spot_usd_per_hour=8.0,
    on_demand_usd_per_hour=22.0,
)


@pytest.fixture
def recording(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    """A pool of p4d in two zones."""
    node = NodeSize(cpu_millis=95690, memory_mib=1082712, storage_gib=444, efa_interfaces=4)

    def program() -> None:
        args = GpuPoolArgs(
            shape=PoolShape(pool=POOL, disk_gib=500, node=node),
            cluster=cluster(),
            role_arn="role",
            subnet_ids={zone: f"subnet-{zone}" for zone in ZONES},
            security_group_id="sg-cluster",
            after=(),
            tags=tags,
        )
        GpuPool("gpu-a100", args)

    built: Recording = build(program)
    return built


def test_each_zone_has_a_placement_group_as_none_spans_zones(recording: Recording) -> None:
    placements = {p.name: p.inputs["strategy"] for p in recording.of_type(PLACEMENT)}
    assert placements == {f"gpu-a100-placement-{zone}": "cluster" for zone in ZONES}
    for zone in ZONES:
        group = next(g for g in recording.of_type(GROUP) if g.name == f"gpu-a100-{zone}")
        template = next(
            t
            for t in recording.of_type(TEMPLATE)
            if group.inputs["launchTemplate"]["id"] == f"{t.name}-id"
        )
        assert template.inputs["placement"] == {"groupName": f"gpu-a100-placement-{zone}"}


def test_every_network_card_has_one_adapter_and_the_first_also_the_nodes_address(
    recording: Recording,
) -> None:
    for template in recording.of_type(TEMPLATE):
        interfaces = template.inputs["networkInterfaces"]
        shape = [
            (i["networkCardIndex"], i["deviceIndex"], i.get("interfaceType")) for i in interfaces
        ]
        assert shape == [
            (0, 0, None),
            (0, 1, "efa-only"),
            (1, 0, "efa-only"),
            (2, 0, "efa-only"),
            (3, 0, "efa-only"),
        ]


def test_interfaces_name_the_clusters_security_group_and_nothing_that_eks_chooses(
    recording: Recording,
) -> None:
    """EKS adds no security group to a template that names interfaces, and refuses a subnet."""
    for template in recording.of_type(TEMPLATE):
        assert "vpcSecurityGroupIds" not in template.inputs
        for interface in template.inputs["networkInterfaces"]:
            assert interface["securityGroups"] == ["sg-cluster"]
            assert not interface.keys() & {"subnetId", "associatePublicIpAddress"}


def test_the_autoscaler_knows_the_adapters_of_a_group_that_has_no_node(
    recording: Recording,
) -> None:
    for zone in ZONES:
        told = {
            tag.inputs["tag"]["key"]: tag.inputs["tag"]["value"]
            for tag in recording.of_type(TAG)
            if tag.inputs["autoscalingGroupName"] == f"eks-gpu-a100-{zone}-0000"
        }
        assert told[f"{NODE_TEMPLATE}/resources/{EFA_RESOURCE}"] == "4"
        assert told[f"{NODE_TEMPLATE}/label/{EFA_LABEL}"] == "present"


def test_the_plugin_runs_on_nodes_with_adapters_and_on_no_other(recording: Recording) -> None:
    (plugin,) = read_manifest("efa-device-plugin.yaml")
    pod = plugin["spec"]["template"]["spec"]
    for group in recording.of_type(GROUP):
        assert pod["nodeSelector"].items() <= group.inputs["labels"].items()
    assert contract.GPU_TAINT_KEY in {toleration["key"] for toleration in pod["tolerations"]}
    assert pod["nodeSelector"].keys() == {EFA_LABEL}


@pytest.mark.parametrize("version", ["1.35", "1.36"])
def test_the_plugin_applies_with_kubectl_as_it_is(version: str) -> None:
    (plugin,) = read_manifest("efa-device-plugin.yaml")
    validate(plugin, version, strict=True)


def test_the_plugin_is_limited_and_unprivileged() -> None:
    (plugin,) = read_manifest("efa-device-plugin.yaml")
    pod = plugin["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"].keys() == {"requests", "limits"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_a_stack_has_the_plugin_when_a_pool_has_adapters() -> None:
    for stack in (*stack_names(), QUARRY.stem):
        built = recording_of(stack)
        has_adapters = any(EFA_LABEL in group.inputs["labels"] for group in built.of_type(GROUP))
        has_plugin = PLUGIN in {r.name for r in built.resources}
        assert has_plugin is has_adapters, stack
    assert any(EFA_LABEL in g.inputs["labels"] for g in recording_of(QUARRY.stem).of_type(GROUP))


def test_no_other_image_of_ours_is_named_by_tag() -> None:
    """AWS shows this one's digest to nobody without an account."""
    by_tag = {
        file.name
        for file in FOLDER.glob("*.yaml")
        for body in read_manifest(file.name)
        if (pod := pod_of(body))
        for container in pod["containers"]
        if "@sha256:" not in container["image"]
    }
    assert by_tag == {"efa-device-plugin.yaml"}
