"""The acceptance page says what is so: every item has tests, and they would notice."""

import pytest

from tests.acceptance.items import ITEMS, PARTS
from tests.acceptance.marked import ROOT, find_shown
from tests.acceptance.mutations import MUTATIONS, Mutation, read_record
from tests.acceptance.page import PAGE, render

SHOWN = find_shown()


def test_the_list_has_forty_items_each_in_one_part() -> None:
    assert sorted(ITEMS) == [number for part in PARTS.values() for number in part]
    assert len(ITEMS) == 40


def test_every_item_is_shown_by_a_test() -> None:
    assert sorted(ITEMS.keys() - {shown.item for shown in SHOWN}) == []


def test_marks_name_items_of_the_list() -> None:
    assert [shown for shown in SHOWN if shown.item not in ITEMS] == []


def test_every_item_can_be_switched_off() -> None:
    mutated = {item for mutation in MUTATIONS for item in mutation.items}
    assert sorted(ITEMS.keys() - mutated) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_a_mutation_applies_to_the_source_as_it_is_and_was_noticed(mutation: Mutation) -> None:
    assert mutation.applies_to((ROOT / mutation.file).read_text())
    assert read_record().get(mutation.digest), "run `make acceptance`, which tries it"


def test_the_page_is_current() -> None:
    """`python -m tests.acceptance --page` writes it in a second."""
    assert PAGE.read_text() == render(SHOWN, read_record())
