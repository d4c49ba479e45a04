"""Each rule of the settings, broken once."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from stacks import schema
from stacks.clouds import support
from stacks.problems import Problem, SettingsError
from stacks.stack_file import STACKS

Document = dict[str, Any]
Change = Callable[[Document], object]
SHIPPED: Document = yaml.safe_load((STACKS / "Pulumi.kind.yaml").read_text())["config"][
    "spotrain:settings"
]
GPUS = {"gpu": "l4", "gpus_per_node": 1}
SPOT = {**GPUS, "capacity": "spot", "notice_seconds": 25}


def with_pool(**changes: Any) -> Change:
    """The shipped file's pool, changed."""
    return lambda document: document["pools"][0].update(changes)


def with_volume(**volume: Any) -> Change:
    return lambda document: document.update(volume=volume)


def with_image(reference: str) -> Change:
    return lambda document: document["images"].update(controller=reference)


def changed(*changes: Change) -> Document:
    document = copy.deepcopy(SHIPPED)
    for change in changes:
        change(document)
    return document


def problems_of(document: object) -> tuple[Problem, ...]:
    with pytest.raises(SettingsError) as refused:
        schema.parse(document, source="stacks/Pulumi.test.yaml")
    return refused.value.problems


NFS = {"server": "files.example", "path": "/exported"}
BROKEN = [
    pytest.param(
        lambda d: d["pools"].append(d["pools"][0]), "pools[1].name", "rename", id="name-twice"
    ),
    pytest.param(
        with_pool(zones=["local", "local"]), "pools[0].zones[1]", "each zone once", id="zone-twice"
    ),
    pytest.param(with_pool(zones=["a b"]), "pools[0].zones[0]", "label's value", id="zone-label"),
    pytest.param(
        with_pool(gpus_per_node=1), "pools[0].gpus_per_node", "0 where gpu is cpu", id="gpus-of-cpu"
    ),
    pytest.param(
        with_pool(gpu="l4"), "pools[0].gpus_per_node", "at least 1 where gpu is l4", id="no-gpus"
    ),
    pytest.param(with_pool(gpu="L4"), "pools[0].gpu", "write l4", id="capital"),
    pytest.param(
        with_pool(**SPOT, usd_per_hour=0.3, on_demand_usd_per_hour=0.2),
        "pools[0].on_demand_usd_per_hour",
        "at least usd_per_hour, 0.3",
        id="spot-is-dearer",
    ),
    pytest.param(
        with_pool(**SPOT, usd_per_hour=0.3),
        "pools[0].on_demand_usd_per_hour",
        "(not set)",
        id="no-price-to-compare-with",
    ),
    pytest.param(
        with_pool(on_demand_usd_per_hour=0.2),
        "pools[0].on_demand_usd_per_hour",
        "only with capacity: spot",
        id="two-on-demand-prices",
    ),
    pytest.param(with_pool(notice_seconds=0), "pools[0].notice_seconds", "from 1", id="no-notice"),
    pytest.param(with_volume(), "volume", "set volume.host_path", id="no-volume"),
    pytest.param(
        with_volume(nfs=NFS, host_path="/x"), "volume", "nfs and host_path", id="two-volumes"
    ),
    pytest.param(
        with_volume(host_path="/x", archive="/x/y"),
        "volume.archive",
        "a folder that is not in /x",
        id="an-archive-that-jobs-could-write",
    ),
    pytest.param(
        with_volume(storage_class={"name": "c"}, archive="/x"),
        "volume.archive",
        "only with nfs or host_path",
        id="an-archive-in-a-class",
    ),
    pytest.param(
        with_volume(host_path="data"), "volume.host_path", "starts with /", id="relative-folder"
    ),
    pytest.param(
        with_volume(nfs={"server": "files.example"}),
        "volume.nfs.path",
        "docs/configuration.md describes it",
        id="half-a-server",
    ),
    pytest.param(with_image("me/controller"), "images.controller", "like controller:dev", id="tag"),
    pytest.param(
        with_image("me/controller:latest"), "images.controller", "loaded into the", id="latest"
    ),
    pytest.param(with_image("a b:1"), "images.controller", "an image reference", id="image"),
    pytest.param(
        lambda d: d["kubeconfig"].pop("context"),
        "kubeconfig.context",
        "must not follow it",
        id="no-context",
    ),
    pytest.param(
        lambda d: d["kubeconfig"].update(path="apiVersion: v1"),
        "kubeconfig.path",
        "starts with / or ~/",
        id="content-for-path",
    ),
]


@pytest.mark.parametrize(("change", "path", "says"), BROKEN)
def test_a_broken_rule_is_told_with_the_way_out(change: Change, path: str, says: str) -> None:
    (problem,) = problems_of(changed(change))
    assert problem.path == path
    assert says in str(problem)


@pytest.mark.parametrize(
    "change",
    [
        with_pool(**SPOT, usd_per_hour=0.3, on_demand_usd_per_hour=0.7),
        with_pool(**GPUS, usd_per_hour=0.7),
        with_volume(nfs=NFS),
        with_volume(storage_class={"name": "many-nodes"}),
        with_image("localhost:5000/controller:1.0"),
        with_image("registry.example/controller@sha256:" + "0" * 64),
        lambda d: d["kubeconfig"].update(path="/etc/rancher/k3s/k3s.yaml"),
    ],
)
def test_what_keeps_the_rules_is_taken(change: Change) -> None:
    assert schema.parse(changed(change), source="x") != schema.parse(SHIPPED, source="x")


WARNED = [
    pytest.param(with_pool(max_nodes=2), "volume.host_path: 2 nodes see", id="many-nodes"),
    pytest.param(
        with_pool(**{**SPOT, "notice_seconds": 300}), "pools[0].notice_seconds: no cloud", id="spot"
    ),
]


@pytest.mark.parametrize(("change", "says"), WARNED)
def test_what_will_disappoint_is_warned_about(change: Change, says: str) -> None:
    (warning,) = support("existing").warnings(schema.parse(changed(change), source="x"))
    assert warning.startswith(says)


def test_the_shipped_file_is_warned_about_nothing() -> None:
    assert support("existing").warnings(schema.parse(SHIPPED, source="x")) == []
