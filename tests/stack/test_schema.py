"""A wrong stack file is refused with value, rule, reason and next step."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from stacks import schema
from stacks.clouds import MODULES, support
from stacks.field_problems import section_in
from stacks.problems import Problem, SettingsError
from stacks.recorder import record
from stacks.section import Section
from stacks.stack_file import STACKS, stack_names

Document = dict[str, Any]


def shipped(stack: str = "dev") -> Document:
    text = (STACKS / f"Pulumi.{stack}.yaml").read_text()
    settings: Document = yaml.safe_load(text)["config"]["spotrain:settings"]
    return settings


def problems_of(document: object) -> tuple[Problem, ...]:
    with pytest.raises(SettingsError) as refused:
        schema.parse(document, source="stacks/Pulumi.test.yaml")
    return refused.value.problems


def sections(node: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where every mapping of a document stands."""
    if isinstance(node, dict):
        yield path
        for key, value in node.items():
            yield from sections(value, (*path, key))
    if isinstance(node, list):
        for index, value in enumerate(node):
            yield from sections(value, (*path, index))


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        document = document[part]
    return document


EVERY_SECTION = [
    pytest.param(stack, path, id=f"{stack}-{'.'.join(map(str, path)) or 'top'}")
    for stack in stack_names()
    for path in sections(shipped(stack))
]


def test_every_stack_file_is_valid(stack: str) -> None:
    assert schema.parse(shipped(stack), source=stack).jobs


@pytest.mark.parametrize(("stack", "path"), EVERY_SECTION)
def test_an_unknown_key_is_refused_at_every_level(stack: str, path: tuple[str | int, ...]) -> None:
    document = shipped(stack)
    at(document, path)["unheard_of"] = 1
    assert any(problem.path.endswith("unheard_of") for problem in problems_of(document))


@pytest.mark.parametrize(("stack", "path"), EVERY_SECTION)
def test_a_typo_in_any_key_is_refused_and_the_right_key_suggested(
    stack: str, path: tuple[str | int, ...]
) -> None:
    for key in list(at(shipped(stack), path)):
        document = shipped(stack)
        section = at(document, path)
        section[f"{key}x"] = section.pop(key)
        refused = [p for p in problems_of(document) if p.path.endswith(f"{key}x")]
        assert [p.next_step.startswith(f"did you mean {key!r}?") for p in refused] == [True]


def test_every_problem_is_told_at_once() -> None:
    document = shipped()
    document["managers"]["min_nodes"] = 9
    document["zones"][0] = "us-west-2a"
    document["pools"][0]["gpu"] = "a100"
    assert len({problem.path for problem in problems_of(document)}) >= 3


def test_the_message_reads_as_four_parts() -> None:
    document = shipped()
    document["managers"]["min_nodes"] = 9
    with pytest.raises(SettingsError) as refused:
        schema.parse(document, source="stacks/Pulumi.test.yaml")
    assert str(refused.value) == (
        "stacks/Pulumi.test.yaml: 1 problem\n"
        "  managers.min_nodes: 9\n"
        "    rule    at most managers.max_nodes, 3\n"
        "    reason  no group can hold more nodes than its limit\n"
        "    next    raise managers.max_nodes or lower managers.min_nodes"
    )


def test_a_spot_pool_with_one_type_is_warned_about() -> None:
    document = shipped()
    document["pools"][0]["instance_types"] = ["g4dn.xlarge"]
    warned = support("aws").warnings(schema.parse(document, source="x"))
    assert any(text.startswith("pools[0].instance_types: spot pool 't4-spot'") for text in warned)


def test_the_example_address_is_warned_about() -> None:
    warned = support("aws").warnings(schema.parse(shipped("dev"), source="dev"))
    assert any("203.0.113.0/24 is reserved for documentation" in text for text in warned)


def test_a_stack_without_settings_says_what_to_copy() -> None:
    with pytest.raises(SettingsError, match=re.escape("stacks/Pulumi.dev.yaml")):
        record(lambda: print(schema.load()), project="spotrain", stack="test", config={})


def sections_of(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A section and all that it holds."""
    yield model
    for field in model.model_fields.values():
        if inner := section_in(field.annotation):
            yield from sections_of(inner)


SECTIONS = {s for cloud in MODULES for s in sections_of(support(cloud).settings)}


@pytest.mark.parametrize("section", sorted(SECTIONS, key=repr))
def test_every_setting_says_what_it_means_and_its_default(section: type[BaseModel]) -> None:
    for name, field in section.model_fields.items():
        assert field.description, f"{section.__name__}.{name} has no docstring"
        nested = isinstance(field.default, Section)
        if not field.is_required() and not nested:
            text = field.description.lower()
            assert "default" in text or "with `" in text, f"{section.__name__}.{name}"
