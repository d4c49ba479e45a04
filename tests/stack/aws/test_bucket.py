"""The bucket and its mount, as a component by itself."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest

from components.aws.reference import ClusterReference
from components.aws.storage.bucket_mount import BucketMount, BucketMountArgs, BucketShape
from components.cloud import CsiVolume
from spotrain import contract
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
BUCKET = "aws:s3/bucket:Bucket"
ARN = "arn:aws:s3:::bucket-s3-objects"


def mounted(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], *, retain: bool = False
) -> Recording:
    def program() -> None:
        args = BucketMountArgs(
            shape=BucketShape(retain=retain, cache_gib=50, job_namespace="research"),
            cluster=cluster(),
            driver_version=None,
            after=(),
            tags=tags,
        )
        made = BucketMount("bucket", args)
        source = made.volume.source
        assert isinstance(source, CsiVolume)
        pulumi.export("claim", made.volume.claim)
        pulumi.export("mount", made.volume.mount)
        pulumi.export("handle", source.handle)
        pulumi.export("attributes", dict(source.attributes))
        pulumi.export("options", list(source.mount_options))
        pulumi.export("bucket", made.outputs["bucket"])
        pulumi.export("ready", [resource.urn for resource in made.ready])

    recording: Recording = build(program)
    return recording


def part(recording: Recording, find: Any, name: str) -> dict[str, Any]:
    """Inputs of one of the bucket's own parts."""
    inputs: dict[str, Any] = find.one(
        recording, f"aws:s3/{name[0].lower()}{name[1:]}:{name}"
    ).inputs
    assert inputs["bucket"] == "bucket-s3-objects"
    return inputs


def accounts(recording: Recording) -> dict[str, tuple[str, str]]:
    """Identity -> namespace and service account that get it."""
    found = recording.of_type("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    return {r.name: (r.inputs["namespace"], r.inputs["serviceAccount"]) for r in found}


def rights_in(policy: Mapping[str, Any]) -> dict[str, list[str]]:
    """Action -> what it may be done to."""
    return {
        action: statement["Resource"]
        for statement in policy["Statement"]
        for action in statement["Action"]
    }


def test_nobody_outside_reads_it_and_nobody_reads_it_in_the_clear(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = mounted(build, cluster, tags)
    block = part(recording, find, "BucketPublicAccessBlock")
    assert [value for key, value in sorted(block.items()) if key != "bucket"] == [True] * 4
    owner = part(recording, find, "BucketOwnershipControls")
    assert owner["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    policy = json.loads(part(recording, find, "BucketPolicy")["policy"])
    assert policy["Statement"] == [
        {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": ["s3:*"],
            "Resource": [ARN, f"{ARN}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def test_its_bytes_are_encrypted(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    (rule,) = part(mounted(build, cluster, tags), find, "BucketServerSideEncryptionConfiguration")[
        "rules"
    ]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "AES256"}


def test_what_was_deleted_can_be_had_back_for_a_week_and_is_then_billed_no_more(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = mounted(build, cluster, tags)
    versioning = part(recording, find, "BucketVersioning")
    assert versioning["versioningConfiguration"] == {"status": "Enabled"}
    (rule,) = part(recording, find, "BucketLifecycleConfiguration")["rules"]
    assert rule["status"] == "Enabled"
    assert rule["noncurrentVersionExpiration"] == {"noncurrentDays": 7}
    assert rule["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    assert "days" not in rule["expiration"], "what is still there never goes by itself"


@pytest.mark.parametrize("retain", [True, False])
def test_a_bucket_that_goes_takes_its_objects_along_and_one_that_stays_does_not(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any, retain: bool
) -> None:
    bucket = find.one(mounted(build, cluster, tags, retain=retain), BUCKET)
    assert bucket.inputs["forceDestroy"] is not retain
    assert bucket.retain_on_delete is retain


def test_the_driver_may_use_this_bucket_and_no_other(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    policy = find.policies(mounted(build, cluster, tags))["bucket-driver-policy.policy"]
    rights = rights_in(policy)
    assert rights.pop("s3:ListBucket") == [ARN]
    assert set(map(tuple, rights.values())) == {(f"{ARN}/*",)}
    assert rights.keys() == {
        "s3:GetObject",
        "s3:PutObject",
        "s3:AbortMultipartUpload",
        "s3:DeleteObject",
    }


def test_the_driver_starts_with_its_identity_on_gpu_nodes_too(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = mounted(build, cluster, tags)
    addon = find.one(recording, "aws:eks/addon:Addon")
    assert addon.inputs["addonName"] == "aws-mountpoint-s3-csi-driver"
    assert any(urn.endswith("PodIdentityAssociation::bucket-driver") for urn in addon.depends_on)
    assert accounts(recording)["bucket-driver"] == ("kube-system", "s3-csi-driver-sa")
    assert json.loads(addon.inputs["configurationValues"]) == {"node": {"tolerateAllTaints": True}}


def test_jobs_read_all_of_it_at_s3_and_write_output_alone(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str], find: Any
) -> None:
    recording = mounted(build, cluster, tags)
    assert accounts(recording)["bucket-jobs"] == ("research", "default")
    policy = find.policies(recording)["bucket-jobs-policy.policy"]
    assert rights_in(policy) == {
        "s3:ListBucket": [ARN],
        "s3:GetObject": [f"{ARN}/*"],
        "s3:PutObject": [f"{ARN}/output/*"],
        "s3:AbortMultipartUpload": [f"{ARN}/output/*"],
        "s3:DeleteObject": [f"{ARN}/output/*"],
    }


def test_no_job_starts_before_it_has_its_identity(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    ready = mounted(build, cluster, tags).outputs["ready"]
    assert any(urn.endswith("PodIdentityAssociation::bucket-jobs") for urn in ready)


def test_jobs_mount_it_with_a_cache_on_the_nodes_disk(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    outputs = mounted(build, cluster, tags).outputs
    assert (outputs["claim"], outputs["mount"]) == (contract.BUCKET_CLAIM, contract.BUCKET_MOUNT)
    assert outputs["handle"] == outputs["bucket"] == "bucket-s3-objects"
    assert outputs["attributes"] == {
        "bucketName": "bucket-s3-objects",
        "cache": "emptyDir",
        "cacheEmptyDirSizeLimit": "50Gi",
    }


def test_any_user_writes_and_sees_at_once_what_another_node_wrote(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    options = set(mounted(build, cluster, tags).outputs["options"])
    assert {"allow-other", "uid=1000", "gid=1000", "dir-mode=0777", "file-mode=0666"} <= options
    assert {"allow-delete", "allow-overwrite", "metadata-ttl minimal"} <= options


def test_the_region_is_told_as_pods_cannot_ask_for_it(
    build: Any, cluster: MakeCluster, tags: Mapping[str, str]
) -> None:
    assert "region us-east-1" in mounted(build, cluster, tags).outputs["options"]
