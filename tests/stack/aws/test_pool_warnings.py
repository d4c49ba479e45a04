"""Pools that would work, and disappoint."""

import pytest

from stacks.aws import pool_rules
from stacks.aws.schema import AwsSettings
from stacks.schema import parse
from stacks.stack_file import read_config

P4D = {"gpu": "a100", "gpus_per_node": 8, "instance_types": ["p4d.24xlarge"]}


def warned(**pool: object) -> list[str]:
    document = read_config("dev")["settings"]
    document["pools"][0].update(pool)
    settings = parse(document, source="dev")
    assert isinstance(settings, AwsSettings)
    return list(pool_rules.warnings(settings))


def test_the_shipped_pool_is_fine() -> None:
    assert warned() == []


@pytest.mark.parametrize(
    ("pool", "advice"),
    [
        ({"instance_types": ["g4dn.xlarge"]}, "add g4dn.2xlarge or g4dn.4xlarge"),
        (P4D, "add a zone or an on-demand twin: no other type has 8 a100"),
    ],
)
def test_a_spot_pool_with_one_type_is_told_what_there_is_besides(
    pool: dict[str, object], advice: str
) -> None:
    (warning,) = warned(**pool)
    assert advice in warning


def test_adapters_without_a_second_node_are_told() -> None:
    both = warned(**P4D, efa=True, max_nodes=1)
    assert any(text.startswith("pools[0].efa: adapters connect nodes") for text in both)
    assert not any("efa" in text for text in warned(**P4D, efa=True, max_nodes=2))
