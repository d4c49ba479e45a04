"""The control plane, as a component by itself."""

import json
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.aws.cluster import Cluster, ClusterArgs, ClusterShape, kubeconfig
from stacks.recorder import MASK, Recording

PLANE = "eks:index:Cluster"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"


def shape(**changed: Any) -> ClusterShape:
    given: dict[str, Any] = {
        "version": "1.36",
        "service_cidr": IPv4Network("172.20.0.0/16"),
        "public_cidrs": (),
        "private_cidrs": (),
        "admins": (),
        "researchers": (),
        "log_types": ("audit",),
        "log_days": 90,
        "deletion_protection": False,
    }
    return ClusterShape(**{**given, **changed})


def cluster(build: Any, tags: Mapping[str, str], **changed: Any) -> Recording:
    args = ClusterArgs(
        shape=shape(**changed),
        region="us-east-1",
        vpc_id="vpc",
        vpc_cidr=IPv4Network("10.0.0.0/16"),
        subnet_ids=["a", "b"],
        tags=tags,
    )
    recording: Recording = build(lambda: Cluster("cluster", args))
    return recording


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("authenticationMode", "API"),
        ("endpointPrivateAccess", True),
        ("upgradePolicy", {"supportType": "STANDARD"}),
        ("enabledClusterLogTypes", ["audit"]),
        ("skipDefaultNodeGroup", True),
        ("skipDefaultSecurityGroups", True),
        ("createOidcProvider", False),
        ("createInstanceRole", False),
        ("bootstrapSelfManagedAddons", False),
        ("useDefaultVpcCni", True),
        ("version", "1.36"),
    ],
)
def test_nothing_is_left_to_a_bad_default(
    build: Any, tags: Mapping[str, str], find: Any, setting: str, value: object
) -> None:
    assert find.one(cluster(build, tags), PLANE).inputs[setting] == value


def test_a_private_cluster_has_no_public_endpoint(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    plane = find.one(cluster(build, tags), PLANE).inputs
    assert plane["endpointPublicAccess"] is False
    assert "publicAccessCidrs" not in plane


def test_a_private_endpoint_admits_the_vpc_and_whom_the_settings_name(
    build: Any, tags: Mapping[str, str]
) -> None:
    recording = cluster(build, tags, private_cidrs=(IPv4Network("10.8.0.0/16"),))
    rules = [rule.inputs for rule in recording.of_type(INGRESS)]
    assert [rule["cidrIpv4"] for rule in rules] == ["10.0.0.0/16", "10.8.0.0/16"]
    assert all(rule["fromPort"] == rule["toPort"] == 443 for rule in rules)


def test_a_public_endpoint_admits_the_given_blocks_only(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = cluster(build, tags, public_cidrs=(IPv4Network("203.0.113.0/24"),))
    plane = find.one(recording, PLANE).inputs
    assert plane["endpointPublicAccess"] is True
    assert plane["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert recording.of_type(INGRESS) == []


def test_secrets_are_encrypted_with_a_rotating_key_of_ours(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = cluster(build, tags)
    key = find.one(recording, "aws:kms/key:Key", "cluster-secrets")
    assert key.inputs["enableKeyRotation"] is True
    arn = find.one(recording, PLANE).inputs["encryptionConfigKeyArn"]
    assert arn.endswith(":cluster-secrets")


def test_an_admin_gets_an_access_entry_and_the_admin_policy(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    admin = "arn:aws:iam::123456789012:role/Platform"
    recording = cluster(build, tags, admins=(admin,))
    entry = find.one(recording, "aws:eks/accessEntry:AccessEntry")
    grant = find.one(recording, "aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert entry.inputs["principalArn"] == grant.inputs["principalArn"] == admin
    assert grant.inputs["policyArn"].endswith("/AmazonEKSClusterAdminPolicy")


def test_the_kubeconfig_is_secret_and_objects_outlive_a_change_of_it(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    provider = find.one(cluster(build, tags), "pulumi:providers:kubernetes").inputs
    assert provider["kubeconfig"] == MASK
    assert provider["clusterIdentifier"].startswith("arn:aws:eks:")


def test_the_kubeconfig_holds_no_credential() -> None:
    config = json.loads(
        kubeconfig(region="us-east-1", cluster="c", endpoint="https://e", authority="ca")
    )
    (user,) = config["users"]
    assert user["user"]["exec"]["args"] == [
        "--region",
        "us-east-1",
        "eks",
        "get-token",
        "--cluster-name",
        "c",
    ]
    assert "token" not in user["user"]
    assert config["current-context"] == config["contexts"][0]["name"]
