"""docs/controller.md: what its examples claim is so."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "controller.md"
SECTIONS = [section.partition("\n") for section in PAGE.read_text().split("\n### ")]
EXAMPLES = [
    (title, code)
    for title, _, text in SECTIONS
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
]


def test_the_page_has_examples() -> None:
    assert {title for title, _ in EXAMPLES} >= {"A shortage, played through"}


@pytest.mark.parametrize("code", [pytest.param(code, id=title) for title, code in EXAMPLES])
def test_an_example_runs_as_it_is_shown(code: str) -> None:
    exec(compile(code, str(PAGE), "exec"), {})
