"""Node groups, scaling groups, and what jobs are told about them say the same."""

import copy
from typing import Any

import yaml

from components.aws.gpu_pool import NODE_TEMPLATE
from spotrain import contract
from spotrain.job import parse_pools
from stacks.aws.schema import AwsSettings
from stacks.preview import ROOT, read_config, run_program
from stacks.recorder import Recording, Registration

GROUP, TAG = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag"
EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


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


def test_no_gpu_group_spans_zones(recording: Recording) -> None:
    groups = gpu_groups(recording)
    assert groups
    assert all(len(group.inputs["subnetIds"]) == 1 for group in groups)


def test_pools_are_the_stack_files_pools_zone_by_zone(
    recording: Recording, settings: AwsSettings
) -> None:
    wanted = {
        f"gpu-{pool.name}-{zone}"
        for pool in settings.pools
        for zone in pool.zones or settings.zones
    }
    assert {group.name for group in gpu_groups(recording)} == wanted


def test_labels_taints_and_scaling_tags_agree(recording: Recording) -> None:
    for group in gpu_groups(recording):
        tags = scaling_tags(recording, group)
        labels = {f"{NODE_TEMPLATE}/label/{k}": v for k, v in group.inputs["labels"].items()}
        taints = {
            f"{NODE_TEMPLATE}/taint/{t['key']}": f"{t['value']}:{EFFECTS[t['effect']]}"
            for t in group.inputs["taints"]
        }
        told = {k: v for k, v in tags.items() if "/label/" in k or "/taint/" in k}
        assert told == {**labels, **taints}
        assert f"{NODE_TEMPLATE}/resources/{contract.GPU_RESOURCE}" in tags


def test_the_pools_that_jobs_see_are_the_groups_that_exist(recording: Recording, find: Any) -> None:
    groups = {group.name: group for group in gpu_groups(recording)}
    for pool in offered_pools(recording, find):
        for zone in pool["zones"]:
            group = groups.pop(f"gpu-{pool['name']}-{zone}")
            labels = group.inputs["labels"]
            assert labels[contract.LABEL_POOL] == pool["name"]
            assert labels[contract.LABEL_GPU] == pool["gpu"]
            assert labels[contract.LABEL_CAPACITY] == pool["capacity"]
            assert group.inputs["instanceTypes"] == pool["instanceTypes"]
            assert group.inputs["scalingConfig"]["maxSize"] == pool["maxNodes"]
            tags = scaling_tags(recording, group)
            told = tags[f"{NODE_TEMPLATE}/resources/{contract.GPU_RESOURCE}"]
            assert told == str(pool["gpusPerNode"])
    assert groups == {}


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


def test_a_changed_pool_leaves_everything_of_the_others_byte_equal() -> None:
    before = read_config("prod")
    after = copy.deepcopy(before)
    after["settings"]["pools"][0]["max_nodes"] += 1
    changed = after["settings"]["pools"][0]["name"]
    first, second = (
        {r.urn: r for r in run_program(ROOT / "__main__.py", "prod", config).resources}
        for config in (before, after)
    )
    assert first.keys() == second.keys()
    differing = {urn for urn, r in first.items() if r.inputs != second[urn].inputs}
    others = {u for u in differing if f"gpu-{changed}-" not in u}
    assert differing - others
    assert {u.rsplit("::", 1)[1] for u in others} == {"elastic-jobs-pools"}
