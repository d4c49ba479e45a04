"""Each situation of the table is derived from its objects, and from nothing else."""

import pytest

from spotrain.explain import Gravity, explain
from tests.explain.situations import ROWS, Row

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@every_row
def test_the_cause_is_derived_from_the_objects(row: Row) -> None:
    found = row.scene().explanation()
    assert tuple(cause.reason for cause in found.causes) == row.reasons, found.paragraph
    assert found.next_command == row.next
    assert [words for words in row.says if words not in found.paragraph] == [], found.paragraph


@every_row
def test_what_is_said_is_one_paragraph_of_whole_sentences(row: Row) -> None:
    paragraph = row.scene().explanation().paragraph
    assert "\n" not in paragraph
    assert paragraph.endswith((".", "?"))
    for slip in ("..", "  ", "None", "{", " .", ": ."):
        assert slip not in paragraph.replace("...", "").replace("[{", ""), paragraph


@every_row
def test_the_graver_cause_comes_first(row: Row) -> None:
    gravities = [cause.gravity for cause in row.scene().explanation().causes]
    assert gravities == sorted(gravities)
    assert all(isinstance(gravity, Gravity) for gravity in gravities)


def test_nodes_that_are_this_machine_are_not_said_to_cost_anything() -> None:
    (row,) = [row for row in ROWS if row.name == "it is suspended"]
    told = explain(row.scene().situation(is_local=True)).paragraph
    assert "which are this machine" in told
    assert "autoscaler" not in told
    assert "cost" not in told


BLIND = {
    "events": (),
    "nodes": (),
    "quotas": (),
    "claims": None,
    "pools": None,
    "prices": None,
    "definition": None,
    "controller": None,
    "autoscaler": None,
}
"""What somebody sees who may read nothing but the job and its pods."""


@every_row
def test_whatever_may_not_be_read_something_is_explained(row: Row) -> None:
    scene = row.scene()
    for unseen in (BLIND, *({field: nothing} for field, nothing in BLIND.items())):
        told = dict.fromkeys(unseen, "you may not")
        found = explain(scene.situation(**unseen, unseen=told))
        assert found.causes
        assert found.next_command
        assert found.paragraph.endswith(f"read it: {', '.join(sorted(told))}.")
