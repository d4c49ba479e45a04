"""Who may do and reach what on AWS, and what is encrypted."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from stacks.aws.schema import AwsSettings
from tests.stack.invariants.registry import Built, on_aws, strings

NO_RESOURCE = "AWS knows no resource for its Describe actions"
WILDCARD_RESOURCES = {
    "prices-identity-policy.policy": NO_RESOURCE,
    "autoscaler-identity-policy.policy": "scaling groups have no names before EKS makes them; "
    "changes are narrowed by the cluster's tag, and AWS knows no resource for Describe*",
    "storage-driver-efs-csi-controller-sa-policy.policy": NO_RESOURCE,
    "block-storage-driver-ebs-csi-controller-sa-policy.policy": NO_RESOURCE,
}
"""Policy -> why its `*` cannot be narrower."""
PODS = "pods.eks.amazonaws.com"
NAMES_NO_SOURCE = {
    "ec2.amazonaws.com": "an instance has the roles of its own account only",
    "backup.amazonaws.com": "AWS does not say that it names its source when it takes a role; "
    "a condition on what is not named would refuse every backup",
}
"""Service -> why its roles are not bound to an account."""
OPEN = 16
"""A block wider than this is the world."""


def policies(built: Built) -> dict[str, dict[str, Any]]:
    """Every policy document of the program, by where it stands."""
    return {
        f"{resource.name}.{key}": json.loads(value)
        for resource in built.recording.resources
        for key, value in resource.inputs.items()
        if isinstance(value, str) and value.startswith("{") and '"Statement"' in value
    }


def _listed(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value or []]  # type: ignore[attr-defined]


@on_aws
def no_iam_action_is_a_wildcard(built: Built) -> Iterator[str]:
    for place, policy in policies(built).items():
        for statement in policy["Statement"]:
            allowed = statement["Effect"] == "Allow"
            for action in _listed(statement["Action"]):
                if allowed and "*" in action:
                    yield f"{place} allows {action}"


@on_aws
def a_wildcard_resource_has_a_reason(built: Built) -> Iterator[str]:
    for place, policy in policies(built).items():
        for statement in policy["Statement"]:
            wild = "*" in _listed(statement.get("Resource")) and statement["Effect"] == "Allow"
            reason = WILDCARD_RESOURCES.get(place)
            describes = all(":Describe" in action for action in _listed(statement["Action"]))
            if wild and (not reason or (reason == NO_RESOURCE and not describes)):
                yield f"{place} may touch everything"


@on_aws
def only_named_pods_and_services_assume_a_role(built: Built) -> Iterator[str]:
    keys = ("eks-cluster-arn", "kubernetes-namespace", "kubernetes-service-account")
    for role in built.of_type("aws:iam/role:Role"):
        for statement in json.loads(role.inputs["assumeRolePolicy"])["Statement"]:
            service = statement["Principal"].get("Service")
            if not service:
                yield f"{role.name} can be assumed by {statement['Principal']}"
            equals = statement.get("Condition", {}).get("StringEquals", {})
            named = all(f"aws:RequestTag/{key}" in equals for key in keys)
            ours = service in NAMES_NO_SOURCE or service == PODS or "aws:SourceAccount" in equals
            if not ours:
                yield f"{role.name} can be used by {service} for somebody in another account"
            if service == PODS and not named:
                yield f"{role.name} can be assumed by any pod"


@on_aws
def only_own_spot_nodes_can_be_interrupted(built: Built) -> Iterator[str]:
    """By the scaling group's name, which EC2 itself writes on its instances."""
    for place, policy in policies(built).items():
        for statement in policy["Statement"]:
            if "ec2:SendSpotInstanceInterruptions" not in _listed(statement["Action"]):
                continue
            equals = statement.get("Condition", {}).get("StringEquals", {})
            groups = _listed(equals.get("aws:ResourceTag/aws:autoscaling:groupName"))
            if not groups or any("*" in group or "on-demand" in group for group in groups):
                yield f"{place} can interrupt other nodes than those of spot pools: {groups}"


@on_aws
def no_endpoint_is_open_to_the_world(built: Built) -> Iterator[str]:
    for resource in built.recording.resources:
        for key in ("publicAccessCidrs", "cidrIpv4", "cidrBlocks", "ingress"):
            for text in strings(resource.inputs.get(key)):
                outward = "Egress" in resource.type
                if "/" in text and not outward and IPv4Network(text).prefixlen < OPEN:
                    yield f"{resource.name}.{key} admits {text}"
        if resource.inputs.get("mapPublicIpOnLaunch"):
            yield f"{resource.name} gives public addresses"
    plane = built.named_plane().inputs
    if plane.get("endpointPrivateAccess") is not True:
        yield "nodes reach the control plane from outside"
    if plane.get("endpointPublicAccess") and not plane.get("publicAccessCidrs"):
        yield "the API endpoint is open to everybody"


@on_aws
def the_endpoint_is_what_the_stack_file_says(built: Built) -> Iterator[str]:
    assert isinstance(built.settings, AwsSettings)
    access = built.settings.network.api_access
    plane = built.named_plane().inputs
    if plane["endpointPublicAccess"] is not (access.private is None):
        yield f"public endpoint: {plane['endpointPublicAccess']}"
    if (plane.get("publicAccessCidrs") or []) != [str(block) for block in access.cidrs]:
        yield f"admitted: {plane.get('publicAccessCidrs')}"


@on_aws
def nothing_that_stores_bytes_is_unencrypted(built: Built) -> Iterator[str]:
    for files in built.of_type("aws:efs/fileSystem:FileSystem"):
        if files.inputs.get("encrypted") is not True:
            yield f"{files.name} is not encrypted"
    for template in built.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        for disk in template.inputs["blockDeviceMappings"]:
            if disk["ebs"].get("encrypted") != "true":
                yield f"{template.name}: {disk['deviceName']} is not encrypted"
    for repository in built.of_type("aws:ecr/repository:Repository"):
        if not repository.inputs.get("encryptionConfigurations"):
            yield f"{repository.name} is not encrypted"
    for volume in built.of_type("aws:ebs/volume:Volume"):
        if volume.inputs.get("encrypted") is not True:
            yield f"{volume.name} is not encrypted"
    if not built.named_plane().inputs.get("encryptionConfigKeyArn"):
        yield "secrets in the cluster have no key of ours"


@on_aws
def nothing_crosses_the_network_in_the_clear(built: Built) -> Iterator[str]:
    for volume in built.of_type("kubernetes:core/v1:PersistentVolume"):
        efs = volume.inputs["spec"].get("csi", {}).get("driver") == "efs.csi.aws.com"
        if efs and "tls" not in volume.inputs["spec"].get("mountOptions", []):
            yield f"{volume.name} mounts without TLS"
    found = policies(built)
    for files in built.of_type("aws:efs/fileSystemPolicy:FileSystemPolicy"):
        for statement in found[f"{files.name}.policy"]["Statement"]:
            asked = statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport")
            if asked != "true":
                yield f"{files.name} admits clear text"
