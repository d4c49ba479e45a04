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


def shipped(stack: str = "dev") -> Document:
    text = (STACKS / f"Pulumi.{stack}.yaml").read_text()
    settings: Document = yaml.safe_load(text)["config"]["spotrain:settings"]
    return settings


def problems_of(document: object) -> tuple[Problem, ...]:
    with pytest.raises(SettingsError) as refused:
        schema.parse(document, source="stacks/Pulumi.test.yaml")
    return refused.value.problems


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        document = document[part]
    return document


def change(path: str, value: object) -> Change:
    """Sets a.b.0.c"""
    parts: list[str | int] = [int(p) if p.isdigit() else p for p in path.split(".")]

    def apply(document: Document) -> None:
        at(document, tuple(parts[:-1]))[parts[-1]] = value

    return apply


def without(path: str) -> Change:
    parts = path.split(".")
    return lambda document: at(document, tuple(parts[:-1])).pop(parts[-1])


def pool(**changed: object) -> Change:
    """Other fields of the first pool."""
    return lambda document: document["pools"][0].update(changed)


def another_pool(**changed: object) -> Change:
    """A second pool, like the first but for these fields."""
    return lambda document: document["pools"].append({**document["pools"][0], **changed})


def both(*changes: Change) -> Change:
    return lambda document: [apply(document) for apply in changes]


ACCESS = "network.api_access"
TWIN = "pools[0].on_demand_max_nodes"
FILES = "arn:aws:elasticfilesystem"
ADA = "arn:aws:iam::123456789012:role/ada"
SSO = "arn:aws:iam::123456789012:role/AWSReservedSSO_Admin_0123456789abcdef"
BROKEN = [
    pytest.param(change("zones.0", "us-west-2a"), "zones[0]", "us-east-1", id="zone-elsewhere"),
    pytest.param(change("zones.0", "us-east-1-bos-1a"), "zones[0]", "local", id="local-zone"),
    pytest.param(change("zones.1", "us-east-1a"), "zones[1]", "each zone once", id="zone-twice"),
    pytest.param(change("zones", ["us-east-1a"]), "zones", "at least two zones", id="one-zone"),
    pytest.param(
        both(change("drills", True), pool(capacity="on-demand")),
        "drills",
        "no pool is spot",
        id="drills-without-spot",
    ),
    pytest.param(change("region", "us-esat-1"), "region", "did you mean 'us-east-1'", id="region"),
    pytest.param(
        change("managers.min_nodes", 9), "managers.min_nodes", "max_nodes, 3", id="min-over-max"
    ),
    pytest.param(
        change("managers.instance_types", ["m7i-flex.larg"]),
        "managers.instance_types[0]",
        "did you mean 'm7i-flex.large'",
        id="manager-type",
    ),
    pytest.param(change("network.cidr", "10.0.0.0/24"), "network.cidr", "/16 to /20", id="small"),
    pytest.param(change("network.cidr", "10.0.0.0/8"), "network.cidr", "/16 to /20", id="wide"),
    pytest.param(change("network.cidr", "8.8.0.0/16"), "network.cidr", "private", id="public-vpc"),
    pytest.param(change("network.cidr", "10.0.0.1/16"), "network.cidr", "host bits", id="host"),
    pytest.param(
        change("network.cidr", "172.20.0.0/16"), "network.service_cidr", "overlap", id="services"
    ),
    pytest.param(without(ACCESS), ACCESS, "private: runner", id="no-access"),
    pytest.param(change(ACCESS, {}), ACCESS, "private: runner", id="empty-access"),
    pytest.param(
        change(ACCESS, {"cidrs": ["203.0.113.0/24"], "private": "vpn"}),
        ACCESS,
        "exactly one",
        id="both-accesses",
    ),
    pytest.param(change(ACCESS, {"private": "vpm"}), f"{ACCESS}.private", "vpn", id="private-typo"),
    pytest.param(
        change(ACCESS, {"cidrs": ["0.0.0.0/0"]}), f"{ACCESS}.cidrs[0]", "0.0.0.0/0", id="world"
    ),
    pytest.param(
        change(ACCESS, {"cidrs": ["0.0.0.0/1"]}), f"{ACCESS}.cidrs[0]", "world", id="half-world"
    ),
    pytest.param(
        change(ACCESS, {"cidrs": ["10.1.0.0/16"]}), f"{ACCESS}.cidrs[0]", "private", id="inside"
    ),
    pytest.param(
        change(ACCESS, {"cidrs": ["203.0.113.0/24", "203.0.113.7/32"]}),
        f"{ACCESS}.cidrs[1]",
        "overlap",
        id="overlapping-cidrs",
    ),
    pytest.param(
        change(ACCESS, {"private": "vpn", "private_cidrs": ["10.20.1.0/24"]}),
        f"{ACCESS}.private_cidrs[0]",
        "overlap",
        id="vpn-in-vpc",
    ),
    pytest.param(
        change(ACCESS, {"cidrs": ["203.0.113.0/24"], "private_cidrs": ["10.8.0.0/16"]}),
        f"{ACCESS}.private_cidrs",
        "only with private",
        id="private-cidrs-alone",
    ),
    pytest.param(
        change(ACCESS, {"private": "vpn", "private_cidrs": ["10.8.0.0/16", "10.8.1.0/24"]}),
        f"{ACCESS}.private_cidrs[1]",
        "overlap with another entry",
        id="overlapping-private-cidrs",
    ),
    pytest.param(
        change("network.endpoints", ["sts", "logs", "sts"]),
        "network.endpoints[2]",
        "each service once",
        id="endpoint-twice",
    ),
    pytest.param(
        change("network.endpoints", ["ecr"]), "network.endpoints[0]", "ecr.api", id="endpoint-typo"
    ),
    pytest.param(
        change("storage.mount_cidrs", ["0.0.0.0/0"]),
        "storage.mount_cidrs[0]",
        "private",
        id="mount-world",
    ),
    pytest.param(
        change("storage.mount_security_groups", ["sg-0123456789abcdef0"] * 2),
        "storage.mount_security_groups[1]",
        "each once",
        id="mounter-twice",
    ),
    pytest.param(
        change("storage.mount_security_groups", ["my-group"]),
        "storage.mount_security_groups[0]",
        "sg-",
        id="group-by-name",
    ),
    pytest.param(
        change(
            "storage", {"file_system": f"{FILES}:eu-west-1:123456789012:file-system/fs-01234567"}
        ),
        "storage.file_system",
        "change region to eu-west-1",
        id="file-system-elsewhere",
    ),
    pytest.param(
        change("storage", {"bucket": True, "bucket_cache_gib": 90}),
        "storage.bucket_cache_gib",
        "at most 60: the disk_gib of pool 't4-spot'",
        id="cache-fills-the-disk",
    ),
    pytest.param(
        change("storage", {"backup": True, "backup_days": 1}),
        "storage.backup_days",
        "copies everything",
        id="backups-that-go-too-soon",
    ),
    pytest.param(change("pools.0.gpu", "a100"), "pools[0].instance_types[0]", "t4", id="gpu"),
    pytest.param(
        change("pools.0.gpus_per_node", 4), "pools[0].instance_types[0]", "it has 1", id="gpus"
    ),
    pytest.param(
        change("pools.0.instance_types", ["g4dn.2xlarge", "g4dn.xlarge"]),
        "pools[0].instance_types[1]",
        "first type",
        id="not-smallest-first",
    ),
    pytest.param(
        change("pools.0.instance_types", ["g4nd.xlarge"]),
        "pools[0].instance_types[0]",
        "did you mean 'g4dn.xlarge'",
        id="type-typo",
    ),
    pytest.param(
        change("pools.0.zones", ["us-east-1f"]), "pools[0].zones[0]", "add it to zones", id="zone"
    ),
    pytest.param(
        pool(capacity="on-demand", on_demand_max_nodes=2),
        TWIN,
        "only for a spot pool",
        id="no-spot",
    ),
    pytest.param(
        both(another_pool(name="t4-spot-on-demand"), pool(on_demand_max_nodes=2)),
        TWIN,
        "remove pools[1]",
        id="twin-taken",
    ),
    pytest.param(
        pool(name="a-pool-with-21-letter", on_demand_max_nodes=2),
        TWIN,
        "shorten pools[0].name to 20",
        id="twin-too-long",
    ),
    pytest.param(
        pool(efa=True), "pools[0].instance_types[0]", "g4dn.8xlarge (gpus_per_node: 1)", id="no-efa"
    ),
    pytest.param(
        pool(
            gpu="l40s", gpus_per_node=4, instance_types=["g6e.12xlarge", "g6e.24xlarge"], efa=True
        ),
        "pools[0].instance_types[1]",
        "1 EFA interfaces, like the first",
        id="unequal-adapters",
    ),
    pytest.param(
        pool(gpu="a100", gpus_per_node=8, instance_types=["p4d.24xlarge", "p4de.24xlarge"]),
        "pools[0].instance_types[1]",
        "it has a100-80gb",
        id="unequal-gpu-memory",
    ),
    pytest.param(change("pools.0.capacity", "sopt"), "pools[0].capacity", "spot", id="capacity"),
    pytest.param(change("pools.0.name", "T4"), "pools[0].name", "lower-case", id="pool-name"),
    pytest.param(change("pools.0.max_nodes", 0), "pools[0].max_nodes", "mistake", id="no-nodes"),
    pytest.param(change("pools", []), "pools", "at least one pool", id="no-pool"),
    pytest.param(change("cluster", {"version": 1.36}), "cluster.version", "quotes", id="number"),
    pytest.param(change("cluster", {"version": "1.29"}), "cluster.version", "1.35", id="old"),
    pytest.param(
        change("cluster", {"addon_versions": {"vpc-cin": "v1.22.4-eksbuild.3"}}),
        "cluster.addon_versions.vpc-cin",
        "did you mean 'vpc-cni'",
        id="unknown-addon",
    ),
    pytest.param(
        change("cluster", {"addon_versions": {"coredns": "latest"}}),
        "cluster.addon_versions.coredns",
        "a version like v1.14",
        id="addon-version",
    ),
    pytest.param(change("account", "1234"), "account", "12 digits", id="short-account"),
    pytest.param(
        change("account", 123456789012), "account", 'quotes: "123456789012"', id="account-as-number"
    ),
    pytest.param(change("images", {"build": False}), "images.training", "digest", id="no-image"),
    pytest.param(
        change("observability", {"notify": ["ada@example.com"]}),
        "observability.notify",
        "unless observability.metrics is true",
        id="messages-without-alerts",
    ),
    pytest.param(
        change("images", {"build": False, "training": "me/image:latest"}),
        "images.training",
        "@sha256:",
        id="image-by-tag",
    ),
    pytest.param(
        change("cluster", {"admins": ["alice"]}), "cluster.admins[0]", "ARN", id="admin-name"
    ),
    pytest.param(
        change("cluster", {"admins": [ADA], "researchers": [ADA]}),
        "cluster.researchers[0]",
        "it is cluster.admins[0] already",
        id="admin-and-researcher",
    ),
    pytest.param(
        change("cluster", {"admins": [ADA, ADA]}), "cluster.admins[1]", "once", id="admin-twice"
    ),
    pytest.param(
        change("cluster", {"researchers": [SSO]}),
        "cluster.researchers[0]",
        "aws iam get-role --role-name AWSReservedSSO_Admin_0123456789abcdef",
        id="sso-role-without-its-path",
    ),
]


@pytest.mark.parametrize(("breakage", "path", "said"), BROKEN)
def test_a_broken_setting_is_refused_where_it_stands(
    breakage: Change, path: str, said: str
) -> None:
    document = shipped()
    breakage(document)
    problem = next(p for p in problems_of(document) if p.path == path)
    assert said in str(problem)
    assert all([problem.rule, problem.reason, problem.next_step])


def test_a_pool_name_used_twice_is_refused() -> None:
    document = shipped()
    document["pools"].append(copy.deepcopy(document["pools"][0]))
    assert [p.path for p in problems_of(document)] == ["pools[1].name"]


def test_a_vpc_too_small_for_its_nodes_is_refused_with_the_numbers() -> None:
    document = shipped()
    document["network"]["cidr"] = "10.20.0.0/20"
    (first, second) = problems_of(document)
    assert first.path == second.path == "network.cidr"
    assert first.rule == "room for 11 nodes in us-east-1a; 10.20.0.0/24 has room for 9"


def test_the_on_demand_twin_of_a_pool_needs_addresses_too() -> None:
    document = shipped()
    document["network"]["cidr"] = "10.20.0.0/19"
    document["pools"][0]["on_demand_max_nodes"] = 10
    (first, second) = problems_of(document)
    assert first.path == second.path == "network.cidr"
    assert first.rule == "room for 21 nodes in us-east-1a; 10.20.0.0/23 has room for 20"


@pytest.mark.parametrize(
    ("endpoints", "warned"),
    [
        (["ecr.api", "sts"], True),
        (["ecr.dkr"], True),
        (["ecr.api", "ecr.dkr"], False),
        (["sts"], False),
    ],
)
def test_half_an_image_registry_is_worth_a_warning(endpoints: list[str], warned: bool) -> None:
    document = shipped()
    document["network"]["endpoints"] = endpoints
    settings = schema.parse(document, source="x")
    said = [text for text in support("aws").warnings(settings) if "ecr.api and ecr.dkr" in text]
    assert bool(said) is warned
