"""What holds for the whole program, whatever the stack file says."""

import inspect
import json
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

import pulumi_aws as aws
import pytest

from stacks.aws.schema import AwsSettings
from stacks.preview import ROOT, read_config, run_program
from stacks.recorder import MASK, STACK_TYPE, Recording

GROUP = "aws:eks/nodeGroup:NodeGroup"
NO_RESOURCE = "ec2:DescribeAvailabilityZones has no resource"
WILDCARD_RESOURCES = {
    "autoscaler-identity-policy.policy": "scaling groups have no names before EKS makes them; "
    "changes are narrowed by the cluster's tag, and AWS knows no resource for Describe*",
    "prices-identity-policy.policy": "spot prices belong to no resource",
    "storage-driver-efs-csi-controller-sa-policy.policy": NO_RESOURCE,
    "block-storage-driver-ebs-csi-controller-sa-policy.policy": NO_RESOURCE,  # with metrics
}


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from strings(child)


def test_no_resource_is_outside_a_component(recording: Recording) -> None:
    roots = {r.urn for r in recording.resources if f"::{STACK_TYPE}::" in r.parent}
    outside = [r.name for r in recording.resources if r.custom and r.urn in roots]
    assert outside == []
    assert all(r.parent for r in recording.resources)


def test_no_two_resources_share_a_urn(recording: Recording) -> None:
    assert recording.duplicates() == []


def test_every_taggable_resource_carries_project_and_stack(
    recording: Recording, stack: str
) -> None:
    wanted = {"project": "spotrain", "stack": stack}.items()
    checked, untagged = 0, []
    for resource in recording.resources:
        if is_taggable(resource.type):
            checked += 1
            if not wanted <= (resource.inputs.get("tags") or {}).items():
                untagged.append(resource.urn)
    assert untagged == []
    assert checked > 30


def is_taggable(kind: str) -> bool:
    """Whether the class of a resource takes tags."""
    if kind == "eks:index:Cluster":
        return True
    package, module, name = kind.split(":")
    if package != "aws":
        return False
    made = getattr(getattr(aws, module.split("/")[0]), name)
    return "tags" in inspect.signature(made._internal_init).parameters


def test_no_iam_action_is_a_wildcard(recording: Recording, find: Any) -> None:
    policies = find.policies(recording)
    assert len(policies) >= 8
    wildcards = [
        f"{place}: {action}"
        for place, policy in policies.items()
        for statement in policy["Statement"]
        for action in statement["Action"]
        if "*" in action
    ]
    assert wildcards == []


def test_a_wildcard_resource_has_a_reason(recording: Recording, find: Any) -> None:
    wild = {
        place
        for place, policy in find.policies(recording).items()
        for statement in policy["Statement"]
        if "*" in statement.get("Resource", [])
    }
    assert wild <= WILDCARD_RESOURCES.keys()


def test_no_endpoint_is_open_to_the_world(recording: Recording) -> None:
    opened = [
        f"{resource.name}.{key}"
        for resource in recording.resources
        for key in ("publicAccessCidrs", "cidrIpv4", "cidrBlocks", "ingress")
        for text in strings(resource.inputs.get(key))
        if IPv4Network(text).prefixlen < 16
    ]
    assert opened == []
    (plane,) = recording.of_type("eks:index:Cluster")
    assert plane.inputs["endpointPrivateAccess"] is True
    if plane.inputs["endpointPublicAccess"]:
        assert plane.inputs["publicAccessCidrs"]


def test_the_endpoint_is_what_the_stack_file_says(
    recording: Recording, settings: AwsSettings
) -> None:
    (plane,) = recording.of_type("eks:index:Cluster")
    assert plane.inputs["endpointPublicAccess"] is (settings.network.api_access.private is None)


def test_no_kubeconfig_is_ever_plain(recording: Recording) -> None:
    text = json.dumps([recording.document(), recording.outputs])
    assert "certificate-authority-data" not in text
    assert "get-token" not in text
    providers = recording.of_type("pulumi:providers:kubernetes")
    assert [p.inputs["kubeconfig"] for p in providers] == [MASK]


def test_nothing_that_stores_bytes_is_unencrypted(recording: Recording) -> None:
    assert all(f.inputs["encrypted"] for f in recording.of_type("aws:efs/fileSystem:FileSystem"))
    for template in recording.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        disks = [disk["ebs"]["encrypted"] for disk in template.inputs["blockDeviceMappings"]]
        assert disks == ["true"]
    for repository in recording.of_type("aws:ecr/repository:Repository"):
        assert repository.inputs["encryptionConfigurations"]
    (plane,) = recording.of_type("eks:index:Cluster")
    assert plane.inputs["encryptionConfigKeyArn"]


def test_every_node_answers_imdsv2_one_hop_far(recording: Recording) -> None:
    templates = recording.of_type("aws:ec2/launchTemplate:LaunchTemplate")
    used = {group.inputs["launchTemplate"]["id"] for group in recording.of_type(GROUP)}
    assert used == {f"{template.name}-id" for template in templates}
    for template in templates:
        metadata = template.inputs["metadataOptions"]
        assert metadata["httpTokens"] == "required"
        assert metadata["httpPutResponseHopLimit"] == 1


def test_no_physical_name_keeps_two_stacks_apart(recording: Recording) -> None:
    named = [
        f"{resource.name}.{key}"
        for resource in recording.resources
        if resource.type.startswith(("aws:", "eks:"))
        for key in ("name", "nodeGroupName", "namePrefix", "bucket")
        if key in resource.inputs
    ]
    assert sorted(named) == ["cluster-logs.name", "cluster.name"]
    for name in ("cluster", "cluster-logs"):  # a log group must be there before its cluster
        (resource,) = (r for r in recording.resources if r.name == name and "name" in r.inputs)
        assert "cluster-suffix-id" in resource.inputs["name"], "no random part"


def test_every_aws_resource_uses_the_provider_of_the_stack_files_region(
    recording: Recording, settings: AwsSettings
) -> None:
    (provider,) = recording.of_type("pulumi:providers:aws")
    assert provider.inputs["region"] == settings.region
    elsewhere = [
        r.name
        for r in recording.resources
        if r.type.startswith("aws:") and not r.provider.startswith(provider.urn)
    ]
    assert elsewhere == []


def test_every_kubernetes_object_goes_to_the_cluster_of_the_stack(recording: Recording) -> None:
    (provider,) = recording.of_type("pulumi:providers:kubernetes")
    objects = [r for r in recording.resources if r.type.startswith("kubernetes:")]
    assert [r.name for r in objects if not r.provider.startswith(provider.urn)] == []


def test_nodes_wait_for_what_they_need_to_join(recording: Recording) -> None:
    for group in recording.of_type(GROUP):
        needed = " ".join(group.depends_on)
        assert "node-addons-network-addon" in needed
        assert "node-addons-identity-addon" in needed
        assert "nodes-worker" in needed
        assert "network-private" in needed


def test_pods_of_the_platform_wait_for_a_node_to_run_on(recording: Recording) -> None:
    kinds = ("kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:Job")
    for workload in (r for kind in kinds for r in recording.of_type(kind)):
        assert any(urn.endswith("::managers-group") for urn in workload.depends_on), workload.name


def test_the_controller_is_made_after_the_definition_and_removed_before_it(
    recording: Recording, find: Any
) -> None:
    controller = find.one(recording, "kubernetes:apps/v1:Deployment", "elastic-jobs-controller")
    needed = " ".join(controller.depends_on)
    assert "CustomResourceDefinition::elastic-jobs-crd" in needed
    assert "elastic-jobs-rbac-spotrain-controller" in needed
    assert "ConfigMap::elastic-jobs-pools" in needed


def test_outputs_are_what_a_person_needs_next(recording: Recording, settings: AwsSettings) -> None:
    outputs = recording.outputs
    assert outputs.keys() == {"jobNamespace", "trainingImage", "login", "fileSystem"}
    assert outputs["jobNamespace"] == settings.jobs.namespace
    assert "@sha256:" in outputs["trainingImage"]
    assert outputs["login"].startswith("aws eks update-kubeconfig --region " + settings.region)


def test_given_images_are_used_and_nothing_is_built() -> None:
    config = read_config("dev")
    given = {k: f"example/{k}@sha256:{'0' * 64}" for k in ("training", "controller")}
    config["settings"]["images"] = {"build": False, **given}
    recording = run_program(ROOT / "__main__.py", "dev", config)
    assert recording.outputs["trainingImage"] == given["training"]
    assert recording.of_type("docker-build:index:Image") == []
    assert recording.of_type("aws:ecr/repository:Repository") == []
    assert recording.invokes == []


@pytest.mark.parametrize("file", ["__main__.py"])
def test_the_program_is_a_table_of_contents(file: str) -> None:
    assert len((ROOT / file).read_text().splitlines()) <= 80
