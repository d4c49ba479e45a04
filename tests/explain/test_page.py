"""The page for people is the table that the tests go through."""

from tests.explain.page import PAGE, page


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text() == page(), f"{PAGE.name} is stale: run make config-reference"
