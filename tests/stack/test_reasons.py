"""The reason of a problem is quickly read, and the place to look really has the setting."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from stacks import schema
from stacks.clouds import MODULES, support
from stacks.examples import where_to_look
from stacks.field_problems import reason, section_in
from stacks.pages.stacks import config_of
from stacks.problems import SettingsError


def test_where_to_look_is_never_a_file_that_lacks_the_setting() -> None:
    """The example of a cluster that exists has one way to a volume out of three."""
    settings: Any = config_of("kind")["settings"]
    settings["volume"] = {"nfs": {"server": "files.example"}}
    with pytest.raises(SettingsError) as error:
        schema.parse(settings, source="x")
    (problem,) = error.value.problems
    assert problem.next_step == "add volume.nfs.path; docs/configuration.md describes it"


def required(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        if field.is_required():
            yield (*place, name)
        if inner := section_in(field.annotation):
            yield from required(inner, (*place, name))


@pytest.mark.parametrize("place", list(required(support("aws").settings)), ids=".".join)
def test_everything_that_must_be_set_on_aws_has_an_example(place: tuple[str, ...]) -> None:
    example = support("aws").example
    at: list[str | int] = [*place]
    if len(place) > 1 and place[0] == "pools":
        at.insert(1, 0)
    assert where_to_look(at, example) == f"{example} has an example"


def reasons(model: type[BaseModel]) -> Iterator[str]:
    for field in model.model_fields.values():
        yield reason(field.description)
        if inner := section_in(field.annotation):
            yield from reasons(inner)


@pytest.mark.parametrize("cloud", MODULES)
def test_every_reason_is_quickly_read(cloud: str) -> None:
    found = list(reasons(support(cloud).settings))
    assert max(map(len, found)) <= 240
    assert all(each.endswith(".") for each in found)
