"""Who writes what another cloud or tool would understand is told what to write here."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from stacks import schema
from stacks.pages.stacks import config_of
from stacks.problems import Problem, SettingsError

Settings = dict[str, Any]
Change = Callable[[Settings], object]


def pool(**changes: object) -> Change:
    return lambda settings: settings["pools"][0].update(changes)


def stack(**changes: object) -> Change:
    return lambda settings: settings.update(changes)


def refused(name: str, change: Change) -> list[Problem]:
    settings = copy.deepcopy(config_of(name)["settings"])
    change(settings)
    with pytest.raises(SettingsError) as raised:
        schema.parse(settings, source="x")
    return list(raised.value.problems)


PRICE = "remove it: nobody names a price here"
MIXTURES: list[tuple[str, Change, str, str]] = [
    ("gcp", pool(machine_type="g5.xlarge"), "pools[0].machine_type", "cloud: aws names a machine"),
    ("gcp", pool(machine_type="g5.xlarge"), "pools[0].machine_type", "known here: g2-standard-12"),
    (
        "gcp",
        pool(gpu="h200", machine_type="p5en.48xlarge"),
        "pools[0].machine_type",
        "cloud: aws names",
    ),
    (
        "dev",
        pool(instance_types=["g2-standard-4"]),
        "pools[0].instance_types[0]",
        "cloud: gcp names a machine type; known here: g4dn.12xlarge",
    ),
    (
        "gcp",
        pool(machine_type="g2-standard-5"),
        "pools[0].machine_type",
        "did you mean 'g2-standard-",
    ),
    ("dev", stack(region="us-central1"), "region", "cloud: gcp names a region; "),
    ("gcp", stack(region="us-east-1"), "region", "cloud: aws names a region; did you mean 'us-ea"),
    ("dev", stack(region="us-east-1a"), "region", "did you mean 'us-east-1'?"),
    ("gcp", stack(region="us-central1-a"), "region", "did you mean 'us-central1'?"),
    ("gcp", stack(zones=["us-central1-a", "b"]), "zones[1]", "did you mean 'us-central1-b'?"),
    ("gcp", pool(gpu="nvidia-l4"), "pools[0].gpu", "did you mean 'l4'?"),
    ("gcp", pool(gpu="nvidia-tesla-t4"), "pools[0].gpu", "did you mean 't4'?"),
    ("dev", pool(spot_usd_per_hour=0.2), "pools[0].spot_usd_per_hour", PRICE),
    ("gcp", pool(max_price="0.2"), "pools[0].max_price", PRICE),
    ("kind", pool(spot_usd_per_hour=0.2), "pools[0].spot_usd_per_hour", "mean 'usd_per_hour'?"),
    ("gcp", pool(spot=True), "pools[0].spot", "write capacity: spot, or"),
    ("dev", pool(preemptible=True), "pools[0].preemptible", "write capacity: spot, or"),
    ("kind", pool(spot=True), "pools[0].spot", "write capacity: spot, or"),
    ("gcp", pool(accelerator="nvidia-l4"), "pools[0].accelerator", "machine_type says which"),
    ("dev", pool(accelerator="t4"), "pools[0].accelerator", "instance_types says which"),
    ("gcp", pool(min_nodes=1), "pools[0].min_nodes", "no node until a job needs one"),
]


@pytest.mark.parametrize(("name", "change", "path", "said"), MIXTURES)
def test_a_mixture_is_answered_with_what_to_write_here(
    name: str, change: Change, path: str, said: str
) -> None:
    found = [problem for problem in refused(name, change) if problem.path == path]
    assert len(found) == 1
    assert said in found[0].next_step


@pytest.mark.parametrize(
    ("name", "change", "paths"),
    [
        pytest.param("dev", stack(region="us-central1"), {"region"}, id="zones-of-a-wrong-region"),
        pytest.param("gcp", stack(region="us-east-1"), {"region"}, id="the-same-on-google"),
        pytest.param(
            "gcp", stack(zones=["a", "b"]), {"zones[0]", "zones[1]"}, id="gpus-of-wrong-zones"
        ),
    ],
)
def test_what_follows_from_a_mistake_is_not_told_beside_it(
    name: str, change: Change, paths: set[str]
) -> None:
    """Its advice would be wrong: `name zones like us-central1a`."""
    assert {problem.path for problem in refused(name, change)} == paths


def test_a_name_that_fits_its_own_cloud_is_no_other_clouds() -> None:
    (problem,) = refused("gcp", stack(region="us-central9"))
    assert "names a region" not in problem.next_step
