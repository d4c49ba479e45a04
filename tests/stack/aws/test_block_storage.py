"""The disk of the metrics, as a component by itself."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from components.aws.addons.block_storage import BlockStorage, BlockStorageArgs
from components.aws.reference import ClusterReference
from stacks.pages.stacks import QUARRY, recording_of, settings_of
from stacks.recorder import Recording

MakeCluster = Callable[[], ClusterReference]
DISK = "aws:ebs/volume:Volume"
POLICY = "disks-driver-ebs-csi-controller-sa-policy.policy"


@pytest.fixture
def disks(build: Any, cluster: MakeCluster, tags: Mapping[str, str]) -> Recording:
    def program() -> None:
        args = BlockStorageArgs(
            cluster=cluster(),
            driver_version=None,
            size_gib=20,
            zone="us-east-1a",
            after=(),
            tags=tags,
        )
        BlockStorage("disks", args)

    recording: Recording = build(program)
    return recording


def statement(disks: Recording, find: Any, action: str) -> list[dict[str, Any]]:
    return [s for s in find.policies(disks)[POLICY]["Statement"] if action in s["Action"]]


def test_the_disk_is_encrypted_gp3_where_managers_are(disks: Recording, find: Any) -> None:
    made = find.one(disks, DISK).inputs
    assert (made["type"], made["size"], made["encrypted"]) == ("gp3", 20, True)
    assert made["availabilityZone"] == "us-east-1a"


def test_the_disk_carries_the_tags_that_its_driver_may_touch(
    disks: Recording, tags: Mapping[str, str], find: Any
) -> None:
    (attach,) = [
        s for s in statement(disks, find, "ec2:AttachVolume") if ":volume/" in s["Resource"][0]
    ]
    asked = attach["Condition"]["StringEquals"]
    assert asked == {f"aws:ResourceTag/{key}": value for key, value in tags.items()}
    assert find.one(disks, DISK).inputs["tags"].items() >= tags.items()


def test_the_driver_makes_changes_and_deletes_nothing(disks: Recording, find: Any) -> None:
    """The stack does: a destroy would be over before the driver had deleted what it made."""
    allowed = [a for s in find.policies(disks)[POLICY]["Statement"] for a in s["Action"]]
    assert {a for a in allowed if ":Describe" not in a} == {"ec2:AttachVolume", "ec2:DetachVolume"}
    assert disks.of_type("kubernetes:storage.k8s.io/v1:StorageClass") == []


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


def test_a_disk_is_there_exactly_when_metrics_are(recording: Recording, settings: Any) -> None:
    everything: Any = settings_of(QUARRY.stem)
    for built, wanted in (
        (recording, settings),
        (recording_of(QUARRY.stem), everything),
    ):
        sizes = [made.inputs["size"] for made in built.of_type(DISK)]
        watch = wanted.observability
        assert sizes == ([watch.metrics_disk_gib] if watch.metrics else [])
        zones = {made.inputs["availabilityZone"] for made in built.of_type(DISK)}
        assert zones <= set(wanted.zones[:2]), "managers are in the first two"
