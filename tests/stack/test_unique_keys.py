"""A key that stands twice is refused wherever it stands; an alias is not a repetition."""

import pytest

from stacks import unique_keys
from stacks.problems import SettingsError


def test_every_repetition_is_told_with_its_lines() -> None:
    text = """\
config:
  spotrain:settings:
    region: us-east-1
    region: us-west-2
    pools:
      - {name: a, name: b}
  spotrain:settings: {}
"""
    with pytest.raises(SettingsError) as refused:
        unique_keys.load(text, "x")
    assert [(p.path, p.value) for p in refused.value.problems] == [
        ("region", "line 4, and before it line 3"),
        ("pools[0].name", "line 6, and before it line 6"),
        ("config.spotrain:settings", "line 7, and before it line 2"),
    ]


def test_an_alias_is_read_once_and_is_no_repetition() -> None:
    text = "a: &shared {x: 1}\nb: *shared\nc:\n  <<: *shared\n  y: 2\n"
    assert unique_keys.load(text, "x") == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def test_an_empty_file_is_an_empty_document() -> None:
    assert unique_keys.load("# nothing yet\n", "x") is None
