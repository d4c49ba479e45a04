"""Settings that the pages speak of exist, and the pieces of stack files in them are accepted."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from stacks import clouds
from stacks.field_problems import section_in
from tests.docs.pages import FENCE, INLINE, PAGES, name_of

MODELS = [clouds.support(cloud).settings for cloud in clouds.MODULES]
TABLES = {"addon_versions"}
"""Whatever is below these is a name of somebody else's."""
PIECE = re.compile(r"^([a-z_]+(?:\.[a-z_]+)*)(?:: (.+))?$")


def sections() -> set[str]:
    return {
        name
        for model in MODELS
        for name, field in model.model_fields.items()
        if section_in(field.annotation)
    }


def exists(model: type[BaseModel], path: list[str]) -> bool:
    field = model.model_fields.get(path[0])
    if field is None:
        return False
    inner = section_in(field.annotation)
    if len(path) == 1 or path[0] in TABLES:
        return True
    return inner is not None and exists(inner, path[1:])


def spoken_of() -> Iterator[tuple[str, str]]:
    """Page, and a dotted name that begins with a section: `storage.retain`, `jobs.egress: all`."""
    for page in PAGES:
        for piece in INLINE.findall(page.read_text()):
            found = PIECE.match(piece)
            if found and "." in found[1] and found[1].split(".")[0] in sections():
                yield name_of(page), found[1]


def test_every_setting_that_is_spoken_of_exists() -> None:
    spoken = sorted(set(spoken_of()))
    assert len(spoken) > 20
    unknown = [
        (page, name)
        for page, name in spoken
        if not any(exists(model, name.split(".")) for model in MODELS)
    ]
    assert unknown == []


def yaml_blocks() -> list[Any]:
    return [
        pytest.param(document, id=name_of(page))
        for page in PAGES
        for language, block in FENCE.findall(page.read_text())
        if language == "yaml"
        and isinstance(document := yaml.safe_load(block), dict)
        and document.keys() & sections()
    ]


@pytest.mark.parametrize("document", yaml_blocks())
def test_every_piece_of_a_stack_file_has_settings_that_exist(document: Mapping[str, Any]) -> None:
    names = [[name, key] for name, inner in document.items() for key in inner]
    assert names
    assert [n for n in names if not any(exists(model, n) for model in MODELS)] == []


def test_a_setting_that_was_renamed_would_be_noticed() -> None:
    assert not any(exists(model, ["storage", "mount_cidr"]) for model in MODELS)
    assert any(exists(model, ["storage", "mount_cidrs"]) for model in MODELS)
