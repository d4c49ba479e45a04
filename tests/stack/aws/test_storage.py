"""The shared file system, as a component by itself."""

import json
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pytest

from components.aws.reference import ClusterReference
from components.aws.storage import Storage, StorageArgs, StorageShape
from components.cloud import CsiVolume
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
FILES = "aws:efs/fileSystem:FileSystem"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
ZONES = {"us-east-1a": "subnet-a", "us-east-1b": "subnet-b"}


def storage(build: Any, cluster: MakeCluster, tags: Mapping[str, str], **changed: Any) -> Recording:
    given: dict[str, Any] = {
        "throughput": "bursting",
        "backup": False,
        "retain": False,
        "mount_cidrs": (),
    }

    def program() -> None:
        args = StorageArgs(
            shape=StorageShape(**{**given, **changed}),
            vpc_id="vpc",
            subnet_ids=ZONES,
            cluster=cluster(),
            node_security_group_id="sg-nodes",
            driver_version=None,
            after=(),
            tags=tags,
        )
        made = Storage("storage", args)
        assert isinstance(made.volume.source, CsiVolume)
        pulumi.export("handle", made.volume.source.handle)
        pulumi.export("mount", made.mount_command)

    recording: Recording = build(program)
    return recording


def test_the_file_system_is_encrypted_with_a_rotating_key(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags)
    files = find.one(recording, FILES).inputs
    assert files["encrypted"] is True
    assert files["kmsKeyId"].endswith(":storage-key")
    assert find.one(recording, "aws:kms/key:Key").inputs["enableKeyRotation"] is True


def test_nobody_mounts_in_the_clear(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    policy = find.one(
        storage(build, cluster, tags), "aws:efs/fileSystemPolicy:FileSystemPolicy"
    ).inputs["policy"]
    (statement,) = json.loads(policy)["Statement"]
    assert statement["Condition"]["Bool"]["aws:SecureTransport"] == "true"


def test_each_zone_has_a_mount_target(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    targets = storage(build, cluster, tags).of_type("aws:efs/mountTarget:MountTarget")
    assert {target.inputs["subnetId"] for target in targets} == set(ZONES.values())


def test_only_nodes_mount_until_a_block_is_named(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    (rule,) = storage(build, cluster, tags).of_type(INGRESS)
    assert rule.inputs["referencedSecurityGroupId"] == "sg-nodes"
    assert "cidrIpv4" not in rule.inputs
    blocks = (IPv4Network("10.9.0.0/24"),)
    rules = storage(build, cluster, tags, mount_cidrs=blocks).of_type(INGRESS)
    assert [r.inputs.get("cidrIpv4") for r in rules] == [None, "10.9.0.0/24"]
    assert {r.inputs["fromPort"] for r in rules} == {2049}


@pytest.mark.parametrize("retain", [True, False])
def test_data_outlives_the_stack_exactly_when_it_says_so(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], retain: bool
) -> None:
    recording = storage(build, cluster, tags, retain=retain)
    kept = {r.type.rsplit(":", 1)[1] for r in recording.resources if r.retain_on_delete}
    assert kept == ({"Key", "FileSystem", "BackupPolicy", "FileSystemPolicy"} if retain else set())


@pytest.mark.parametrize(("backup", "status"), [(True, "ENABLED"), (False, "DISABLED")])
def test_backups_are_as_the_settings_say(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any, backup: bool, status: str
) -> None:
    policy = find.one(
        storage(build, cluster, tags, backup=backup), "aws:efs/backupPolicy:BackupPolicy"
    )
    assert policy.inputs["backupPolicy"] == {"status": status}


def test_any_user_in_a_container_owns_what_it_writes(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    point = find.one(storage(build, cluster, tags), "aws:efs/accessPoint:AccessPoint").inputs
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    assert point["rootDirectory"]["creationInfo"] == {
        "ownerUid": 1000,
        "ownerGid": 1000,
        "permissions": "0775",
    }


def test_the_volume_is_the_access_point_and_a_person_can_mount_it(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    outputs = storage(build, cluster, tags).outputs
    assert outputs["handle"] == "storage-files-id::storage-shared-id"
    assert outputs["mount"] == (
        "sudo mount -t efs -o tls,accesspoint=storage-shared-id storage-files-id:/ /mnt/efs"
    )


def test_the_driver_acts_with_its_own_identity_on_this_file_system(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags)
    addon = find.one(recording, "aws:eks/addon:Addon").inputs
    accounts = {a["serviceAccount"]: a["roleArn"] for a in addon["podIdentityAssociations"]}
    assert accounts.keys() == {"efs-csi-controller-sa", "efs-csi-node-sa"}
    policies = find.policies(recording)
    files = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/storage-files-id"
    controller = policies["storage-driver-efs-csi-controller-sa-policy.policy"]["Statement"]
    changing = [s for s in controller if any("Create" in a or "Delete" in a for a in s["Action"])]
    assert len(changing) == 2
    assert all(s["Condition"]["StringEquals"] for s in changing)
    assert files in changing[0]["Resource"]
    node = policies["storage-driver-efs-csi-node-sa-policy.policy"]["Statement"]
    assert not [a for s in node for a in s["Action"] if "Describe" not in a]
