"""The platform puts the same objects on every cloud, but for what is written down."""

import pytest
import yaml

from tests.stack.platform_objects import GOLDEN, NOT_EVERYWHERE, SMALL, platform_objects

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


def test_every_difference_that_is_written_down_exists() -> None:
    names = [set(platform_objects(cloud)) for cloud in SMALL]
    somewhere, everywhere = set.union(*names), set.intersection(*names)
    differing = somewhere - everywhere
    for part in NOT_EVERYWHERE:
        assert any(part in name for name in differing), part
