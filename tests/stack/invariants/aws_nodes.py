"""Nodes on AWS: what the autoscaler, the jobs and EKS are told about them is the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.aws.nodes.node_template import NODE_TEMPLATE
from spotrain import contract
from stacks.aws.instances import gpu_catalog
from stacks.aws.schema import AwsSettings
from stacks.recorder import Registration
from tests.stack.invariants.registry import Built, offered_pools, on_aws, workloads

GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


def gpu_groups(built: Built) -> list[Registration]:
    groups = built.of_type(GROUP)
    return [g for g in groups if g.name.startswith("gpu-")]


def scaling_tags(built: Built, group: Registration) -> dict[str, str]:
    name = f"eks-{group.name}-0000"
    tags = [tag.inputs for tag in built.of_type(TAG)]
    return {t["tag"]["key"]: t["tag"]["value"] for t in tags if t["autoscalingGroupName"] == name}


@on_aws
def no_gpu_group_spans_zones(built: Built) -> Iterator[str]:
    for group in gpu_groups(built):
        if len(group.inputs["subnetIds"]) != 1:
            yield f"{group.name} has subnets {group.inputs['subnetIds']}"


@on_aws
def every_gpu_group_is_tainted(built: Built) -> Iterator[str]:
    wanted = (contract.GPU_TAINT_KEY, contract.GPU_TAINT_VALUE, contract.GPU_TAINT_EFFECT)
    for group in gpu_groups(built):
        taints = group.inputs.get("taints", [])
        told = [(t["key"], t["value"], EFFECTS.get(t["effect"])) for t in taints]
        if wanted not in told:
            yield f"{group.name} has taints {told}"


@on_aws
def the_autoscaler_is_told_labels_taints_and_gpus_of_every_group(built: Built) -> Iterator[str]:
    for group in gpu_groups(built):
        tags = scaling_tags(built, group)
        labels = group.inputs["labels"]
        taints = {t["key"]: f"{t['value']}:{EFFECTS[t['effect']]}" for t in group.inputs["taints"]}
        wanted = {
            **{f"{NODE_TEMPLATE}/label/{key}": value for key, value in labels.items()},
            **{f"{NODE_TEMPLATE}/taint/{key}": value for key, value in taints.items()},
        }
        told = {k: v for k, v in tags.items() if "/label/" in k or "/taint/" in k}
        if told != wanted:
            yield f"{group.name}: {sorted(told.items() ^ wanted.items())}"
        if f"{NODE_TEMPLATE}/resources/{contract.GPU_RESOURCE}" not in tags:
            yield f"{group.name}: no GPUs are told"


@on_aws
def the_autoscaler_promises_no_more_than_pods_get(built: Built) -> Iterator[str]:
    """Told an instance's whole size, it orders nodes for pods that never fit."""
    for group in gpu_groups(built):
        tags = scaling_tags(built, group)
        cpu = tags.get(f"{NODE_TEMPLATE}/resources/cpu", "").removesuffix("m")
        memory = tags.get(f"{NODE_TEMPLATE}/resources/memory", "").removesuffix("Mi")
        if not (cpu.isdigit() and memory.isdigit()):
            yield f"{group.name}: no CPU or no memory is told: {cpu!r}, {memory!r}"
            continue
        for name in group.inputs["instanceTypes"]:
            instance = gpu_catalog().types[name]
            if int(cpu) >= instance.vcpu * 1000 or int(memory) >= instance.memory_gib * 1024:
                yield f"{group.name}: {cpu}m and {memory}Mi are promised, {name} keeps some"


@on_aws
def jobs_are_offered_the_groups_that_exist(built: Built) -> Iterator[str]:
    groups = {group.name: group for group in gpu_groups(built)}
    for pool in offered_pools(built):
        for zone in pool["zones"]:
            name = f"gpu-{pool['name']}-{zone}"
            if name not in groups:
                yield f"{name} is offered and does not exist"
                continue
            yield from _differences(pool, groups.pop(name), built)
    yield from (f"{name} exists and is not offered" for name in groups)


def _differences(pool: Mapping[str, Any], group: Registration, built: Built) -> Iterator[str]:
    labels, tags = group.inputs["labels"], scaling_tags(built, group)
    told = {
        "name": labels.get(contract.LABEL_POOL),
        "gpu": labels.get(contract.LABEL_GPU),
        "capacity": labels.get(contract.LABEL_CAPACITY),
        "instanceTypes": group.inputs["instanceTypes"],
        "maxNodes": group.inputs["scalingConfig"]["maxSize"],
        "gpusPerNode": int(tags.get(f"{NODE_TEMPLATE}/resources/{contract.GPU_RESOURCE}", 0)),
    }
    for key, value in told.items():
        if pool[key] != value:
            yield f"{group.name}: {key} is {value}, jobs are told {pool[key]}"


@on_aws
def every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size(built: Built) -> Iterator[str]:
    for group in gpu_groups(built):
        scaling = group.inputs["scalingConfig"]
        if scaling["minSize"] or scaling["desiredSize"]:
            yield f"{group.name} starts with {scaling}"
    for group in built.of_type(GROUP):
        if "scalingConfig.desiredSize" not in group.ignore_changes:
            yield f"{group.name}: an update resets the autoscaler's size"


@on_aws
def an_update_of_a_full_group_is_waited_for(built: Built) -> Iterator[str]:
    """EKS takes one node after the other, and waits up to 15 minutes for the pods of each."""
    for group in built.of_type(GROUP):
        nodes = group.inputs["scalingConfig"]["maxSize"]
        if int(group.update_timeout.removesuffix("m") or 60) < 15 * nodes:
            yield f"{group.name}: {nodes} nodes, {group.update_timeout or 'an hour'}"


@on_aws
def every_node_answers_imdsv2_one_hop_far(built: Built) -> Iterator[str]:
    templates = {f"{t.name}-id": t for t in built.of_type(TEMPLATE)}
    for group in built.of_type(GROUP):
        if group.inputs.get("launchTemplate", {}).get("id") not in templates:
            yield f"{group.name} has no launch template of ours"
    for template in templates.values():
        metadata = template.inputs.get("metadataOptions", {})
        if metadata.get("httpTokens") != "required":
            yield f"{template.name} answers IMDSv1"
        if metadata.get("httpPutResponseHopLimit") != 1:
            yield f"{template.name} answers pods"


@on_aws
def nodes_wait_for_what_they_need_to_join(built: Built) -> Iterator[str]:
    parts = (
        "node-addons-network-addon",
        "node-addons-identity-addon",
        "nodes-worker",
        "network-private",
    )
    for group in built.of_type(GROUP):
        needed = " ".join(group.depends_on)
        yield from (f"{group.name} does not wait for {p}" for p in parts if p not in needed)


@on_aws
def every_workload_waits_for_a_node_to_run_on(built: Built) -> Iterator[str]:
    """So that a destroy removes pods while there is still a node to stop them on."""
    for workload in workloads(built):
        if not any(urn.endswith("::managers-group") for urn in workload.depends_on):
            yield f"{workload.name} may be made before, and removed after, the managers"


@on_aws
def managers_are_on_demand_in_two_zones_without_a_taint(built: Built) -> Iterator[str]:
    group = built.named("managers-group").inputs
    if group["capacityType"] != "ON_DEMAND" or group.get("taints"):
        yield "managers are spot, or tainted"
    if len(group["subnetIds"]) < 2 or group["scalingConfig"]["minSize"] < 2:
        yield "managers are in one zone"


@on_aws
def the_cluster_has_the_stacks_nodes_and_no_others(built: Built) -> Iterator[str]:
    plane = built.named_plane().inputs
    if plane.get("skipDefaultNodeGroup") is not True or plane.get("autoMode"):
        yield "EKS, or its component, makes nodes of its own"


@on_aws
def an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first(built: Built) -> Iterator[str]:
    """More GPU nodes, against quota and bill, or fewer managers, with nowhere to go."""
    for group in built.of_type(GROUP):
        update, is_gpu = group.inputs["updateConfig"], group.name.startswith("gpu-")
        if (update.get("updateStrategy") == "MINIMAL") is not is_gpu:
            yield f"{group.name}: {update.get('updateStrategy', 'a new node first')}"
        if update["maxUnavailable"] != 1:
            yield f"{group.name}: {update['maxUnavailable']} nodes at once"


@on_aws
def versions_are_those_of_the_stack_file(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, AwsSettings)
    wanted = built.settings.cluster.version
    for resource in (built.named_plane(), *built.of_type(GROUP)):
        if resource.inputs.get("version") != wanted:
            yield f"{resource.name} has version {resource.inputs.get('version')}"


@on_aws
def the_cluster_is_protected_as_the_stack_file_says(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, AwsSettings)
    told = built.named_plane().inputs.get("deletionProtection")
    if told is not built.settings.cluster.deletion_protection:
        yield f"deletion protection is {told}"
