"""The shared file system, as a component by itself."""

import json
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pytest

from components.aws.reference import ClusterReference
from components.aws.storage.bucket_mount import BucketShape
from components.aws.storage.storage import Storage, StorageArgs, StorageShape
from components.cloud import CsiVolume
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
FILES = "aws:efs/fileSystem:FileSystem"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
ZONES = {"us-east-1b": "subnet-b", "us-east-1a": "subnet-a"}
KEPT_ARN = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-0123456789abcdef0"


def storage(build: Any, cluster: MakeCluster, tags: Mapping[str, str], **changed: Any) -> Recording:
    given: dict[str, Any] = {
        "file_system_arn": None,
        "throughput": "bursting",
        "backup_days": None,
        "retain": False,
        "mount_cidrs": (),
        "mount_security_groups": (),
        "bucket": None,
    }

    def program() -> None:
        args = StorageArgs(
            shape=StorageShape(**{**given, **changed}),
            vpc_id="vpc",
            subnet_ids=ZONES,
            cluster=cluster(),
            node_security_group_id="sg-nodes",
            addon_versions={},
            after=(),
            tags=tags,
        )
        made = Storage("storage", args)
        source = made.volumes[0].source
        assert isinstance(source, CsiVolume)
        pulumi.export("handle", source.handle)
        pulumi.export("claims", [volume.claim for volume in made.volumes])
        for name, value in made.outputs.items():
            pulumi.export(name, value)

    recording: Recording = build(program)
    return recording


def test_the_file_system_is_encrypted_with_a_rotating_key(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags)
    files = find.one(recording, FILES).inputs
    assert files["encrypted"] is True
    assert files["kmsKeyId"].endswith(":storage-files-key")
    assert find.one(recording, "aws:kms/key:Key").inputs["enableKeyRotation"] is True


def test_nobody_mounts_in_the_clear_or_past_an_access_point_or_as_root(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    policy = find.one(
        storage(build, cluster, tags), "aws:efs/fileSystemPolicy:FileSystemPolicy"
    ).inputs["policy"]
    (statement,) = json.loads(policy)["Statement"]
    assert statement["Condition"]["Bool"]["aws:SecureTransport"] == "true"
    assert statement["Condition"]["StringLike"] == {
        "elasticfilesystem:AccessPointArn": (
            "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/*"
        )
    }
    assert set(statement["Action"]) == {
        "elasticfilesystem:ClientMount",
        "elasticfilesystem:ClientWrite",
    }


def test_each_zone_has_a_mount_target(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    targets = storage(build, cluster, tags).of_type("aws:efs/mountTarget:MountTarget")
    assert {target.inputs["subnetId"] for target in targets} == set(ZONES.values())


def test_only_nodes_mount_until_somebody_is_named(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    (rule,) = storage(build, cluster, tags).of_type(INGRESS)
    assert rule.inputs["referencedSecurityGroupId"] == "sg-nodes"
    assert "cidrIpv4" not in rule.inputs
    rules = storage(
        build,
        cluster,
        tags,
        mount_cidrs=(IPv4Network("10.9.0.0/24"),),
        mount_security_groups=("sg-0123456789abcdef0",),
    ).of_type(INGRESS)
    admitted = {r.inputs.get("cidrIpv4") or r.inputs["referencedSecurityGroupId"] for r in rules}
    assert admitted == {"sg-nodes", "10.9.0.0/24", "sg-0123456789abcdef0"}
    assert {(r.inputs["fromPort"], r.inputs["toPort"]) for r in rules} == {(2049, 2049)}


def test_data_and_what_guards_it_outlive_a_stack_that_says_so(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    bucket = BucketShape(retain=True, cache_gib=50, job_namespace="jobs")
    recording = storage(build, cluster, tags, retain=True, backup_days=35, bucket=bucket)
    kept = {r.type.rsplit(":", 1)[1] for r in recording.resources if r.retain_on_delete}
    assert kept == {
        "FileSystem",
        "FileSystemPolicy",
        "Key",
        "Vault",
        "Role",
        "RolePolicyAttachment",
        "Bucket",
        "BucketLifecycleConfiguration",
        "BucketOwnershipControls",
        "BucketPolicy",
        "BucketPublicAccessBlock",
        "BucketServerSideEncryptionConfiguration",
        "BucketVersioning",
    }
    drivers = [r for r in recording.of_type("aws:iam/role:Role") if "driver" in r.name]
    assert [r.name for r in drivers if r.retain_on_delete] == []


def test_nothing_outlives_a_stack_that_does_not_say_so(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    bucket = BucketShape(retain=False, cache_gib=50, job_namespace="jobs")
    recording = storage(build, cluster, tags, backup_days=35, bucket=bucket)
    assert [r.name for r in recording.resources if r.retain_on_delete] == []


def test_nothing_that_is_kept_needs_what_is_not(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    """A destroy that has to keep the data can still remove everything else."""
    bucket = BucketShape(retain=True, cache_gib=50, job_namespace="jobs")
    recording = storage(build, cluster, tags, retain=True, backup_days=35, bucket=bucket)
    kept = {r.urn for r in recording.resources if r.retain_on_delete}
    custom = {r.urn for r in recording.resources if r.custom}
    for resource in recording.resources:
        if resource.urn in kept:
            assert set(resource.depends_on) & custom <= kept, resource.name


def test_a_kept_file_system_is_used_again_and_stays(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags, file_system_arn=KEPT_ARN, backup_days=35)
    assert recording.of_type(FILES) == []
    assert recording.outputs["handle"] == "fs-0123456789abcdef0::storage-shared-id"
    assert recording.outputs["fileSystem"] == KEPT_ARN
    targets = recording.of_type("aws:efs/mountTarget:MountTarget")
    assert {t.inputs["fileSystemId"] for t in targets} == {"fs-0123456789abcdef0"}
    policy = find.one(recording, "aws:efs/fileSystemPolicy:FileSystemPolicy")
    assert policy.retain_on_delete
    selection = find.one(recording, "aws:backup/selection:Selection").inputs
    assert selection["resources"] == [KEPT_ARN]


@pytest.mark.parametrize("backup_days", [None, 35])
def test_nothing_is_backed_up_twice(
    build: Any,
    cluster: MakeCluster,
    tags: Mapping[str, str],
    find: Any,
    backup_days: int | None,
) -> None:
    recording = storage(build, cluster, tags, backup_days=backup_days)
    automatic = find.one(recording, "aws:efs/backupPolicy:BackupPolicy")
    assert automatic.inputs["backupPolicy"] == {"status": "DISABLED"}
    assert len(recording.of_type("aws:backup/plan:Plan")) == (1 if backup_days else 0)


def test_any_user_in_a_container_owns_what_it_writes(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags)
    point = find.one(recording, "aws:efs/accessPoint:AccessPoint", "storage-shared").inputs
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    assert point["rootDirectory"]["creationInfo"] == {
        "ownerUid": 1000,
        "ownerGid": 1000,
        "permissions": "0775",
    }
    asked = find.one(recording, "kubernetes:storage.k8s.io/v1:StorageClass").inputs["parameters"]
    assert (asked["uid"], asked["gid"]) == ("1000", "1000")


def test_what_jobs_mount_cannot_lead_to_what_the_archive_keeps(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = storage(build, cluster, tags)
    point = find.one(recording, "aws:efs/accessPoint:AccessPoint", "storage-archive").inputs
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    assert point["rootDirectory"]["path"] == "/archive"
    assert point["rootDirectory"]["creationInfo"]["permissions"] == "0700"


def test_the_volume_is_the_access_point(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    outputs = storage(build, cluster, tags).outputs
    assert outputs["handle"] == "storage-files-efs-id::storage-shared-id"
    assert outputs["claims"] == ["efs"]


def test_who_is_named_gets_a_command_that_works_outside_the_vpc(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    outputs = storage(build, cluster, tags, mount_cidrs=(IPv4Network("10.9.0.0/24"),)).outputs
    assert outputs["mount"] == (
        "sudo mkdir -p /mnt/efs && sudo mount -t efs -o tls,region=us-east-1,"
        "accesspoint=storage-shared-id,mounttargetip=ip-of-storage-mount-us-east-1a "
        "storage-files-efs-id:/ /mnt/efs"
    )


def test_no_command_is_told_that_would_only_time_out(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    assert "mount" not in storage(build, cluster, tags).outputs


def test_the_driver_acts_with_an_identity_that_eks_accepts(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    addon = find.one(storage(build, cluster, tags), "aws:eks/addon:Addon").inputs
    accounts = [a["serviceAccount"] for a in addon["podIdentityAssociations"]]
    assert accounts == ["efs-csi-controller-sa"]


def test_the_driver_changes_only_access_points_that_it_made(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    policies = find.policies(storage(build, cluster, tags))
    statements = policies["storage-driver-efs-csi-controller-sa-policy.policy"]["Statement"]
    changing = {
        action.split(":")[1]: statement
        for statement in statements
        for action in statement["Action"]
        if "Describe" not in action
    }
    account = "arn:aws:elasticfilesystem:us-east-1:123456789012"
    assert changing["CreateAccessPoint"]["Resource"] == [
        f"{account}:file-system/storage-files-efs-id"
    ]
    equals = {action: s["Condition"]["StringEquals"] for action, s in changing.items()}
    asked = {"aws:RequestTag/efs.csi.aws.com/cluster": "true"}
    assert equals == {
        "CreateAccessPoint": asked,
        "TagResource": {**asked, "elasticfilesystem:CreateAction": "CreateAccessPoint"},
        "DeleteAccessPoint": {"aws:ResourceTag/efs.csi.aws.com/cluster": "true"},
    }
