"""As many problems at once as can be known; and whatever is written, never a traceback."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from stacks import schema
from stacks.pages.stacks import QUARRY, config_of
from stacks.problems import SettingsError
from stacks.section import Section

Place = tuple[str | int, ...]
GARBAGE: list[Any] = [
    None, True, 5, -1, 1.5, float("inf"), float("nan"), 10**40, "", "x", "8", "a b", "0.0.0.0/0",
    [], [None], ["x", "x"], [[]], [{}], {}, {"x": None}, {5: 6}, {None: 1},
]  # fmt: skip


def shipped(stack: str) -> Any:
    return config_of(stack)["settings"]


def places(node: object, place: Place = ()) -> Iterator[Place]:
    """Everything that stands in a document."""
    yield place
    if isinstance(node, dict | list):
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in parts:
            yield from places(value, (*place, key))


def replaced(document: Any, place: Place, value: object) -> Any:
    """A copy with another value there."""
    if not place:
        return value
    document = above = copy.deepcopy(document)
    for part in place[:-1]:
        above = above[part]
    above[place[-1]] = copy.deepcopy(value)
    return document


def said_about(document: object) -> str:
    """The whole message, or nothing."""
    try:
        schema.parse(document, source="x")
    except SettingsError as error:
        return str(error)
    return ""


def paths_of(document: object) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        schema.parse(document, source="x")
    return [problem.path for problem in refused.value.problems]


@pytest.mark.parametrize("stack", [QUARRY.stem, "kind"])
@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_whatever_stands_anywhere_is_taken_or_refused(stack: str, garbage: object) -> None:
    document = shipped(stack)
    for place in places(document):
        assert "Input should" not in said_about(replaced(document, place, garbage)), place


def test_a_wrong_field_hides_no_broken_rule_elsewhere() -> None:
    document = shipped("dev")
    document["managers"]["disk_gib"] = "fifty"
    document["managers"]["min_nodes"] = 9
    document["network"]["cidr"] = "8.8.0.0/16"
    document["pools"][0]["max_nodes"] = "eight"
    document["pools"][0]["gpu"] = "T4"
    document["storage"]["mount_cidrs"] = ["8.8.4.0/24"]
    assert sorted(paths_of(document)) == [
        "managers.disk_gib",
        "managers.min_nodes",
        "network.cidr",
        "pools[0].gpu",
        "pools[0].max_nodes",
        "storage.mount_cidrs[0]",
    ]


def test_a_wrong_pool_hides_nothing_of_the_next() -> None:
    document = shipped("dev")
    document["pools"].append({**document["pools"][0], "name": "other", "gpu": "t5"})
    document["pools"][0]["instance_types"] = "g4dn.xlarge"
    document["pools"][0]["gpus_per_node"] = "one"
    assert sorted(paths_of(document)) == [
        "pools[0].gpus_per_node",
        "pools[0].instance_types",
        "pools[1].gpu",
    ]


@pytest.mark.parametrize("cloud", ["asw", "AWS", "azure", None, 5, ["aws"]])
def test_a_wrong_cloud_hides_nothing(cloud: object) -> None:
    document = {**shipped("dev"), "cloud": cloud, "region": "mars"}
    assert {"cloud", "region"} <= set(paths_of(document))


def test_a_misspelled_cloud_hides_nothing() -> None:
    document = shipped("kind")
    document["clod"] = document.pop("cloud")
    document["pools"][0]["gpu"] = "L4"
    assert paths_of(document) == ["clod", "pools[0].gpu"]


def test_of_settings_that_could_be_any_clouds_only_the_cloud_is_told() -> None:
    assert paths_of({"cloud": "azure", "jobs": {"namespace": "vision"}}) == ["cloud"]


def test_what_a_misspelled_setting_was_to_say_is_not_taken_for_unsaid() -> None:
    document = shipped("dev")
    access = document["network"]["api_access"]
    access["cidr"] = access.pop("cidrs")
    assert paths_of(document) == ["network.api_access.cidr"]


def test_a_whole_section_has_no_unknown_setting() -> None:
    class Small(Section):
        size: int = 1
        """Size; default 1."""

    assert Small().size == 1
    with pytest.raises(AttributeError, match="weight"):
        Small().weight  # type: ignore[attr-defined]  # noqa: B018
