"""The control plane, as a component by itself."""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from ipaddress import IPv4Network
from typing import Any

import pytest

from components.aws.cluster.cluster import Cluster, ClusterArgs, ClusterShape
from components.aws.cluster.kubeconfig import kubeconfig
from stacks.preview import ROOT, run_program
from stacks.recorder import MASK, Recording
from stacks.stack_file import read_config

PLANE = "eks:index:Cluster"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
LOGS = "aws:cloudwatch/logGroup:LogGroup"


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
        account="123456789012",
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
        ("deletionProtection", False),
        ("kubernetesServiceIpAddressRange", "172.20.0.0/16"),
        ("privateSubnetIds", ["a", "b"]),
    ],
)
def test_nothing_is_left_to_a_bad_default(
    build: Any, tags: Mapping[str, str], find: Any, setting: str, value: object
) -> None:
    assert find.one(cluster(build, tags), PLANE).inputs[setting] == value


@pytest.mark.parametrize("addon", ["kubeProxyAddonOptions", "corednsAddonOptions"])
def test_no_add_on_is_installed_behind_our_back(
    build: Any, tags: Mapping[str, str], find: Any, addon: str
) -> None:
    assert find.one(cluster(build, tags), PLANE).inputs[addon]["enabled"] is False


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


def test_the_control_plane_may_look_after_its_key_and_no_other(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = cluster(build, tags)
    assert find.one(recording, PLANE).inputs["serviceRole"] == "cluster-identity-role"
    rights = find.one(recording, "aws:iam/rolePolicy:RolePolicy").inputs
    assert rights["role"] == "cluster-identity-role-id"
    (statement,) = json.loads(rights["policy"])["Statement"]
    assert {"kms:DescribeKey", "kms:ListGrants"} <= set(statement["Action"])
    assert statement["Resource"] == [find.one(recording, PLANE).inputs["encryptionConfigKeyArn"]]


def test_eks_takes_the_role_for_clusters_of_this_stack_and_for_nobody_elses(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    """The suffix is left open: a cluster that is being replaced needs the role to its end."""
    recording = cluster(build, tags)
    role = find.one(recording, "aws:iam/role:Role").inputs
    (statement,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "eks.amazonaws.com"}
    pattern = "arn:aws:eks:us-east-1:123456789012:cluster/spotrain-test-*"
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "123456789012"},
        "ArnLike": {"aws:SourceArn": pattern},
    }
    name = find.one(recording, PLANE).inputs["name"]
    assert fnmatch(name, pattern.rpartition("/")[2])


def test_the_cluster_goes_before_the_rights_and_the_log_group_that_it_uses(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    needed = " ".join(find.one(cluster(build, tags), PLANE).depends_on)
    for part in ("cluster-identity-cluster", "cluster-identity-key", "cluster-logs"):
        assert part in needed


def test_the_log_group_is_where_eks_will_write_and_forgets_in_time(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    recording = cluster(build, tags, log_days=365)
    group, plane = find.one(recording, LOGS).inputs, find.one(recording, PLANE).inputs
    assert group["name"] == f"/aws/eks/{plane['name']}/cluster"
    assert group["retentionInDays"] == 365


def test_without_logs_there_is_no_log_group(build: Any, tags: Mapping[str, str], find: Any) -> None:
    recording = cluster(build, tags, log_types=())
    assert recording.of_type(LOGS) == []
    assert find.one(recording, PLANE).inputs["enabledClusterLogTypes"] == []


def test_a_replaced_cluster_has_another_name(
    build: Any, tags: Mapping[str, str], find: Any
) -> None:
    """Else AWS would refuse the new one while the old one is still there."""
    recording = cluster(build, tags)
    assert find.one(recording, PLANE).inputs["name"] == "spotrain-test-cluster-suffix-id"
    suffix = find.one(recording, "random:index/randomString:RandomString").inputs
    assert suffix["keepers"] == {"vpc": "vpc", "service_cidr": "172.20.0.0/16"}
    assert suffix["upper"] is suffix["special"] is False


@pytest.mark.parametrize("stack", ["dev.eu", "a_b-C1"])
def test_any_stack_name_makes_a_cluster_name_that_eks_takes(
    build: Any, tags: Mapping[str, str], find: Any, stack: str
) -> None:
    name = find.one(cluster(build, {**tags, "stack": stack}), PLANE).inputs["name"]
    assert re.fullmatch(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", name)


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


def test_a_zone_more_is_no_zone_of_the_control_plane(find: Any) -> None:
    """EKS takes no subnet in a zone that it was not made with."""
    planes = []
    for zones in (["us-east-1b", "us-east-1c"], ["us-east-1b", "us-east-1c", "us-east-1a"]):
        config = read_config("dev")
        config["settings"]["zones"] = zones
        recording = run_program(ROOT / "__main__.py", "dev", config)
        planes.append(find.one(recording, PLANE).inputs)
    assert planes[0] == planes[1]
    names = [f"network-private-us-east-1{letter}-id" for letter in "bc"]
    assert planes[0]["privateSubnetIds"] == names
