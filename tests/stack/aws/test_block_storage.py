"""Disks for pods, as a component by itself."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws.addons.block_storage import BlockStorage, BlockStorageArgs
from components.aws.reference import ClusterReference
from stacks.pages.stacks import QUARRY, recording_of, settings_of
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
POLICY = "disks-driver-ebs-csi-controller-sa-policy.policy"


@pytest.fixture
def disks(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    def program() -> None:
        args = BlockStorageArgs(cluster=cluster(), driver_version=None, after=(), tags=tags)
        BlockStorage("disks", args)

    recording: Recording = build(program)
    return recording


def statement(disks: Recording, find: Any, action: str) -> list[dict[str, Any]]:
    return [s for s in find.policies(disks)[POLICY]["Statement"] if action in s["Action"]]


def test_a_disk_is_encrypted_gp3_in_the_zone_of_its_pod(disks: Recording, find: Any) -> None:
    made = find.one(disks, CLASS).inputs
    assert made["provisioner"] == "ebs.csi.aws.com"
    assert made["parameters"].items() >= {"type": "gp3", "encrypted": "true"}.items()
    assert made["volumeBindingMode"] == "WaitForFirstConsumer"


def test_a_disk_carries_the_tags_that_its_driver_may_touch(disks: Recording, find: Any) -> None:
    parameters = find.one(disks, CLASS).inputs["parameters"]
    written = dict(v.split("=") for k, v in parameters.items() if k.startswith("tagSpecification_"))
    (make,) = statement(disks, find, "ec2:CreateVolume")
    (remove,) = statement(disks, find, "ec2:DeleteVolume")
    for found, prefix in ((make, "aws:RequestTag/"), (remove, "aws:ResourceTag/")):
        assert found["Condition"]["StringEquals"] == {f"{prefix}{k}": v for k, v in written.items()}
        assert found["Resource"] == ["arn:aws:ec2:us-east-1:123456789012:volume/*"]


def test_a_disk_is_attached_only_to_nodes_of_its_own_cluster(disks: Recording, find: Any) -> None:
    instances = [
        s for s in statement(disks, find, "ec2:AttachVolume") if ":instance/" in s["Resource"][0]
    ]
    assert [s["Condition"] for s in instances] == [
        {"StringEquals": {"aws:ResourceTag/eks:cluster-name": "mine"}}
    ]


def test_the_driver_runs_on_tainted_nodes_too(disks: Recording, find: Any) -> None:
    addon = find.one(disks, "aws:eks/addon:Addon").inputs
    assert addon["configurationValues"] == '{"node": {"tolerateAllTaints": true}}'


def test_disks_are_there_exactly_when_metrics_are(recording: Recording, settings: Any) -> None:
    for built, metrics in (
        (recording, settings.observability.metrics),
        (recording_of(QUARRY.stem), settings_of(QUARRY.stem).observability.metrics),
    ):
        classes = {made.inputs["metadata"]["name"] for made in built.of_type(CLASS)}
        assert ("gp3" in classes) == metrics
