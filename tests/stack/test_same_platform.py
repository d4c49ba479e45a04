"""The platform puts the same objects on every cloud, but for what is written down."""

import copy
from collections.abc import Mapping

import pytest
import yaml

from stacks.pages.stacks import GCP_QUARRY, QUARRY, recording_of
from tests.stack.platform_objects import (
    DECIDED,
    GOLDEN,
    NOT_EVERYWHERE,
    SMALL,
    platform_objects,
)

REWRITE = "run make config-reference, and look at what has changed"


def is_optional(name: str) -> bool:
    return any(part in name for part in NOT_EVERYWHERE)


@pytest.mark.parametrize("cloud", SMALL)
def test_objects_are_those_of_the_golden_file(cloud: str) -> None:
    golden = yaml.safe_load(GOLDEN.read_text())
    made = platform_objects(cloud)
    different = [name for name in made if name in golden and made[name] != golden[name]]
    assert different == [], REWRITE
    assert [name for name in made if name not in golden and not is_optional(name)] == [], REWRITE
    assert [name for name in golden if name not in made and not is_optional(name)] == [], REWRITE


@pytest.mark.parametrize("cloud", SMALL)
def test_an_object_that_differs_on_one_cloud_is_noticed(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of object in turn, by one more key."""
    whole = copy.deepcopy(recording_of(SMALL[cloud]))
    monkeypatch.setattr("tests.stack.platform_objects.recording_of", lambda stack: whole)
    golden = yaml.safe_load(GOLDEN.read_text())
    kinds = {name.split()[0]: name for name in platform_objects(cloud) if name in golden}
    assert len(kinds) > 8
    for kind, name in kinds.items():
        (changed,) = [r for r in whole.resources if f"{kind} {r.name}" == name]
        changed.inputs["onlyHere"] = cloud
        assert platform_objects(cloud)[name] != golden[name]


WITH_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "NetworkPolicy jobs-network-credentials": {
        "spec/egress/0/to/0/ipBlock/cidr": "where a pod asks for its identity"
    },
    "Release metrics-release": {
        "values/alertmanager/config/receivers": "who is told: SNS, on AWS alone",
        "values/alertmanager/config/route/routes": "of what",
        "values/prometheus/prometheusSpec/storageSpec": "on which disk",
    },
}
"""As DECIDED, of what a stack has with every option."""
OF_ONE_CLOUD: Mapping[str, str] = {
    "PersistentVolume metrics-disk": "a disk of AWS's, made before; GKE's driver makes one",
    "-by-name": "IAM of Google Cloud names people to a cluster, and not by groups",
}
"""Part of an object's name -> why only one of the clouds has it."""


def test_with_every_option_the_clouds_still_get_the_same_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is made on request is in no small stack, and so not in the golden file."""
    monkeypatch.setattr(
        "tests.stack.platform_objects.SMALL", {"aws": QUARRY.stem, "gcp": GCP_QUARRY}
    )
    monkeypatch.setattr("tests.stack.platform_objects.DECIDED", {**DECIDED, **WITH_OPTIONS})
    on_aws, on_gcp = platform_objects("aws"), platform_objects("gcp")
    alone = {name for name in on_aws.keys() ^ on_gcp.keys()}
    assert [name for name in alone if not any(part in name for part in OF_ONE_CLOUD)] == []
    assert all(any(part in name for name in alone) for part in OF_ONE_CLOUD)
    both = on_aws.keys() & on_gcp.keys()
    assert len(both) > len(yaml.safe_load(GOLDEN.read_text()))
    assert [name for name in both if on_aws[name] != on_gcp[name]] == []


def test_every_difference_that_is_written_down_exists() -> None:
    names = [set(platform_objects(cloud)) for cloud in SMALL]
    somewhere, everywhere = set.union(*names), set.intersection(*names)
    differing = somewhere - everywhere
    for part in NOT_EVERYWHERE:
        assert any(part in name for name in differing), part
