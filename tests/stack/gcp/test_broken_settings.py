"""Everything that a stack file of Google Cloud must not say is refused where it stands."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from stacks import schema
from stacks.gcp.schema import GcpSettings
from stacks.pages.stacks import GCP_QUARRY, config_of
from stacks.problems import Problem, SettingsError

SHIPPED: dict[str, Any] = config_of("gcp")["settings"]
POOL: dict[str, Any] = SHIPPED["pools"][0]


def with_pool(**changes: object) -> dict[str, object]:
    return {"pools": [{**POOL, **changes}]}


def refused(changes: Mapping[str, object]) -> list[Problem]:
    with pytest.raises(SettingsError) as raised:
        schema.parse({**copy.deepcopy(SHIPPED), **changes}, source="x")
    return list(raised.value.problems)


BROKEN: list[tuple[Mapping[str, object], str, str]] = [
    ({"project": "My Project"}, "project", "the id of a project"),
    ({"region": "us-centrall1"}, "region", "a region of stacks/gcp/gpus.yaml"),
    ({"zones": ["us-central1-a", "us-east1-b"]}, "zones[1]", "a zone of us-central1"),
    ({"zones": ["us-central1-a", "us-central1-a"]}, "zones[1]", "each zone once"),
    ({"network": {"api_access": {}}}, "network.api_access", "either cidrs or dns"),
    (
        {"network": {"api_access": {"dns": True, "cidrs": ["198.51.100.0/24"]}}},
        "network.api_access",
        "either cidrs or dns",
    ),
    (
        {"network": {"api_access": {"cidrs": ["0.0.0.0/0"]}}},
        "network.api_access.cidrs[0]",
        "a public block of /16 or narrower",
    ),
    (
        {"network": {"pod_cidr": "10.0.0.0/14", "api_access": {"dns": True}}},
        "network.pod_cidr",
        "no overlap with network.cidr",
    ),
    (
        {"network": {"cidr": "10.0.0.0/8", "api_access": {"dns": True}}},
        "network.cidr",
        "from /16 to /24",
    ),
    (
        {
            "network": {"cidr": "10.0.0.0/24", "api_access": {"dns": True}},
            **with_pool(max_nodes=99),
        },
        "network.cidr",
        "room for 301 nodes",
    ),
    (
        {
            "network": {"pod_cidr": "10.4.0.0/20", "api_access": {"dns": True}},
            **with_pool(max_nodes=50),
        },
        "network.pod_cidr",
        "10,624 addresses",
    ),
    (with_pool(gpu="rtx4090"), "pools[0].gpu", "a GPU of stacks/gcp/gpus.yaml"),
    (with_pool(machine_type="g2-standard-5"), "pools[0].machine_type", "a GPU machine type"),
    (with_pool(gpu="t4"), "pools[0].machine_type", "a machine type with GPU t4"),
    (with_pool(gpus_per_node=2), "pools[0].gpus_per_node", "1: what g2-standard-4 can have"),
    (
        with_pool(gpu="t4", machine_type="n1-standard-8", gpus_per_node=3),
        "pools[0].gpus_per_node",
        "1, 2, 4: what n1-standard-8 can have",
    ),
    (with_pool(zones=["us-central1-f"]), "pools[0].zones[0]", "a zone of the stack"),
    (
        with_pool(gpu="h100", machine_type="a3-highgpu-1g", on_demand_max_nodes=1),
        "pools[0].machine_type",
        "spot, without an on-demand twin",
    ),
    (
        with_pool(gpu="t4", machine_type="n1-standard-4", compact=True),
        "pools[0].compact",
        "only with",
    ),
    (
        {
            "region": "us-east4",
            "zones": ["us-east4-a", "us-east4-b"],
            **with_pool(gpu="a100", machine_type="a2-highgpu-1g"),
        },
        "pools[0].machine_type",
        "that us-east4 sells with a100",
    ),
    (
        {
            "region": "us-east4",
            "zones": ["us-east4-a", "us-east4-b"],
            **with_pool(gpu="a100-80gb", machine_type="a2-ultragpu-1g"),
        },
        "pools[0].zones",
        "a zone with a100-80gb: us-east4-c",
    ),
    (with_pool(name="x" * 21, on_demand_max_nodes=1), "pools[0].on_demand_max_nodes", "at most 30"),
    ({"storage": {"tier": "basic-ssd", "size_gib": 2559}}, "storage.size_gib", "2560 to 65433"),
    ({"storage": {"tier": "basic-hdd", "size_gib": 65_434}}, "storage.size_gib", "100 to 65433"),
    *(
        ({"storage": {"tier": tier, "size_gib": size}}, "storage.size_gib", "1024 to 9984 in steps")
        for tier in ("zonal", "regional")
        for size in (100, 1023, 1025, 10_000, 10_241, 12_000, 102_399)
    ),
    *(
        (
            {"storage": {"server": {"address": address, "path": "/vol1"}}},
            "storage.server.address",
            "an IPv4 address",
        )
        for address in ("files.example", "10.0.0.256", "10.0.0", "10.0.0.2/32", "fd00::2", "")
    ),
    *(
        (
            {"storage": {"server": {"address": "10.0.0.2", "path": path}}},
            "storage.server.path",
            "a path below /",
        )
        for path in ("/", "//", "vol1", "/a b")
    ),
    (
        {"managers": {"machine_type": "e2-micro"}},
        "managers.machine_type",
        "under `managers` in stacks/gcp/services.yaml",
    ),
    (
        {"cluster": {"researchers": ["group:a@example.com"]}},
        "cluster.researchers[0]",
        "a group only with cluster.groups_domain",
    ),
    (
        {"cluster": {"admins": ["user:a@b.co"], "researchers": ["user:a@b.co"]}},
        "cluster.researchers[0]",
        "each principal once",
    ),
    ({"cluster": {"admins": ["a@b.co"]}}, "cluster.admins[0]", "a principal of IAM"),
    ({"images": {"build": False}}, "images.training", "a reference with its digest"),
]


@pytest.mark.parametrize(("changes", "path", "rule"), BROKEN, ids=lambda x: str(x)[:60])
def test_it_is_refused_where_it_stands(changes: Mapping[str, object], path: str, rule: str) -> None:
    found = {problem.path: problem for problem in refused(changes)}
    assert path in found, found
    assert rule in found[path].rule
    assert found[path].reason
    assert found[path].next_step


def test_what_is_wrong_in_two_places_is_told_at_once() -> None:
    paths = {p.path for p in refused({"region": "mars", **with_pool(gpu="rtx4090")})}
    assert paths == {"region", "pools[0].gpu"}


@pytest.mark.parametrize(
    ("tier", "size"),
    [
        ("basic-hdd", 100),
        ("basic-hdd", 65_433),
        ("zonal", 1024),
        ("zonal", 1280),
        ("regional", 9984),
        ("regional", 10_240),
        ("zonal", 12_800),
        ("zonal", 102_400),
    ],
)
def test_a_size_that_google_sells_is_accepted(tier: str, size: int) -> None:
    document = {**copy.deepcopy(SHIPPED), "storage": {"tier": tier, "size_gib": size}}
    assert schema.parse(document, source="x")


@pytest.mark.parametrize(("size", "next_one"), [(1025, 1280), (10_000, 10_240), (10_241, 12_800)])
def test_the_next_size_that_google_sells_is_told(size: int, next_one: int) -> None:
    (problem,) = refused({"storage": {"tier": "zonal", "size_gib": size}})
    assert f"set storage.size_gib to {next_one}," in problem.next_step


@pytest.mark.parametrize("stack", ["gcp", GCP_QUARRY])
def test_the_shipped_files_are_accepted(stack: str) -> None:
    assert isinstance(schema.parse(config_of(stack)["settings"], source=stack), GcpSettings)
