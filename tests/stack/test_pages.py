"""Pages that are made from the code are as the code is now."""

from collections.abc import Callable

import pytest

from stacks.pages.__main__ import DOCS, PAGES


@pytest.mark.parametrize(("name", "page"), PAGES.items(), ids=list(PAGES))
def test_a_page_is_not_stale(name: str, page: Callable[[], str]) -> None:
    written = (DOCS / name).read_text()
    assert written == page(), f"docs/{name} is stale: run make config-reference"
