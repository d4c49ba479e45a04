"""Node groups, scaling groups, and what jobs are told about them say the same."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from components.aws.nodes.node_template import NODE_TEMPLATE
from spotrain import contract
from spotrain.job import parse_pools, parse_terms
from stacks.aws.build import aws_args
from stacks.aws.instances import gpu_catalog
from stacks.aws.schema import AwsSettings
from stacks.cloud_rules import LONGEST_POOL_NAME
from stacks.pages.stacks import QUARRY, recording_of, settings_of
from stacks.pools import twin_name
from stacks.preview import ROOT, run_program
from stacks.recorder import Recording, Registration
from stacks.stack_file import read_config

GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"


def gpu_groups(recording: Recording) -> list[Registration]:
    return [g for g in recording.of_type(GROUP) if g.inputs.get("taints")]


def scaling_tags(recording: Recording, group: Registration) -> dict[str, str]:
    name = f"eks-{group.name}-0000"
    return {
        tag.inputs["tag"]["key"]: tag.inputs["tag"]["value"]
        for tag in recording.of_type(TAG)
        if tag.inputs["autoscalingGroupName"] == name
    }


def offered_pools(recording: Recording, find: Any) -> list[dict[str, Any]]:
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools")
    assert config.inputs["metadata"]["name"] == contract.POOLS_CONFIGMAP
    assert config.inputs["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
    pools: list[dict[str, Any]] = yaml.safe_load(config.inputs["data"][contract.POOLS_KEY])
    return pools


def test_jobs_that_name_no_image_get_the_one_that_the_stack_outputs(
    recording: Recording, find: Any
) -> None:
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools")
    image = config.inputs["data"][contract.TRAINING_IMAGE_KEY]
    assert image == recording.outputs["trainingImage"]
    assert "@sha256:" in image


def test_pools_are_the_stack_files_pools_zone_by_zone(
    recording: Recording, settings: AwsSettings
) -> None:
    wanted = {
        f"gpu-{pool.name}-{zone}"
        for pool in settings.pools
        for zone in pool.zones or settings.zones
    }
    wanted |= {
        f"gpu-{pool.name}-on-demand-{zone}"
        for pool in settings.pools
        if pool.on_demand_max_nodes
        for zone in pool.zones or settings.zones
    }
    assert {group.name for group in gpu_groups(recording)} == wanted


def test_a_pool_has_exactly_the_agreed_fields(recording: Recording, find: Any) -> None:
    for pool in offered_pools(recording, find):
        assert list(pool) == [
            "name",
            "gpu",
            "gpusPerNode",
            "capacity",
            "zones",
            "instanceTypes",
            "maxNodes",
            "noticeSeconds",
            "spotUsdPerHour",
            "onDemandUsdPerHour",
        ]
        assert pool["capacity"] in (contract.CAPACITY_SPOT, contract.CAPACITY_ON_DEMAND)
        assert pool["noticeSeconds"] == 90 or pool["capacity"] == contract.CAPACITY_ON_DEMAND
        assert 0 < pool["spotUsdPerHour"] < pool["onDemandUsdPerHour"]


def test_the_controllers_own_parser_accepts_the_pools(recording: Recording, find: Any) -> None:
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools")
    pools = parse_pools(config.inputs["data"][contract.POOLS_KEY])
    assert [pool.name for pool in pools] == [p["name"] for p in offered_pools(recording, find)]


def test_the_ledger_is_told_how_long_idle_nodes_stay(
    recording: Recording, settings: AwsSettings, find: Any
) -> None:
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "elastic-jobs-pools")
    terms = parse_terms(config.inputs["data"][contract.TERMS_KEY])
    assert terms.idle_minutes == settings.autoscaler.idle_minutes
    assert terms.storage is not None


def test_a_changed_pool_leaves_everything_of_the_others_byte_equal() -> None:
    config = read_config("prod")
    config["settings"]["pools"][0]["max_nodes"] += 1
    changed = config["settings"]["pools"][0]["name"]
    first, second = (
        {r.urn: r for r in recording.resources}
        for recording in (
            recording_of("prod"),
            run_program(ROOT / "__main__.py", "prod", config),
        )
    )
    assert first.keys() == second.keys()
    differing = {urn for urn, r in first.items() if r.inputs != second[urn].inputs}
    others = {u.rsplit("::", 1)[1] for u in differing if f"gpu-{changed}-" not in u}
    assert any(f"gpu-{changed}-" in urn for urn in differing)
    # A quota is the sum of all pools.
    assert {o for o in others if not o.startswith("jobs-quota-")} == {"elastic-jobs-pools"}


def test_a_twin_is_the_same_pool_on_demand() -> None:
    settings = settings_of(QUARRY.stem)
    assert isinstance(settings, AwsSettings)
    shapes = {s.pool.name: s for s in aws_args(settings, {"stack": "test"}).pools}
    spot, twin = shapes["t4"], shapes["t4-on-demand"]
    same = replace(
        spot.pool,
        name="t4-on-demand",
        capacity=contract.CAPACITY_ON_DEMAND,
        max_nodes=4,
        notice_seconds=twin.pool.notice_seconds,
    )
    assert twin == replace(spot, pool=same)
    assert (spot.pool.notice_seconds, twin.pool.notice_seconds) == (90, 300)


def test_a_twins_nodes_say_that_they_are_on_demand() -> None:
    for group in gpu_groups(recording_of(QUARRY.stem)):
        spot = "on-demand" not in group.name
        assert group.inputs["capacityType"] == ("SPOT" if spot else "ON_DEMAND")
        told = group.inputs["labels"][contract.LABEL_CAPACITY]
        assert told == (contract.CAPACITY_SPOT if spot else contract.CAPACITY_ON_DEMAND)


def test_the_autoscaler_tries_spot_before_its_twin(find: Any) -> None:
    recording = recording_of(QUARRY.stem)
    config = find.one(recording, "kubernetes:core/v1:ConfigMap", "autoscaler-priorities")
    ranked = yaml.safe_load(config.inputs["data"]["priorities"])
    rank = {name: number for number, names in ranked.items() for name in names}
    zones = [g.name.removeprefix("gpu-t4-") for g in gpu_groups(recording) if "gpu-t4-us" in g.name]
    assert len(zones) == 3
    for zone in zones:
        spot, twin = (f"^eks-gpu-{name}-{zone}-0000$" for name in ("t4", "t4-on-demand"))
        assert rank[spot] > rank[twin]


def test_jobs_are_offered_the_twin(find: Any) -> None:
    offered = {pool["name"]: pool for pool in offered_pools(recording_of(QUARRY.stem), find)}
    assert offered["t4-on-demand"]["maxNodes"] == 4
    assert offered["t4-on-demand"]["capacity"] == contract.CAPACITY_ON_DEMAND


@pytest.mark.parametrize("region", gpu_catalog().region_factors)
def test_the_longest_name_of_a_pool_leaves_room_for_zone_and_random_part(region: str) -> None:
    """EKS allows a node group 63 characters; Pulumi adds a hyphen and seven digits."""
    assert len(f"gpu-{'a' * LONGEST_POOL_NAME}-{region}a-1234567") <= 63
    assert len(twin_name("a" * 20)) == LONGEST_POOL_NAME


def test_images_and_temporary_files_have_the_room_that_the_autoscaler_is_told(
    find: Any,
) -> None:
    """Nine tenths of the instance's own disks when they are used, else of the root disk."""
    recording = recording_of(QUARRY.stem)
    told = {
        group.name: scaling_tags(recording, group)[f"{NODE_TEMPLATE}/resources/ephemeral-storage"]
        for group in gpu_groups(recording)
    }
    assert told["gpu-t4-us-east-1a"] == "102Gi"  # 125 GB of a g4dn.xlarge
    assert told["gpu-a100-us-east-1a"] == "444Gi"  # 500 GiB of EBS
