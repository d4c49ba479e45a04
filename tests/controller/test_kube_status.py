"""The stored status: who may change what of it."""

from dataclasses import replace
from typing import Any

import pytest

from spotrain.controller.progress import report
from spotrain.controller.status import JobStatus, Restarts, WorldStatus
from spotrain.controller.stored import (
    merge_patch,
    number_patch,
    read_status,
    recorded_number,
    status_patch,
)
from tests.controller.builders import NOW, seen, world

WORLD = {"number": 3, "size": 2, "since": "2026-01-01T11:00:00Z", "step": 40}


def merged(document: Any, patch: Any) -> Any:
    """What the API server makes of a merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="no change"),
        pytest.param({}, {"a": 1}, {"a": 1}, id="new"),
        pytest.param({"a": 1}, {}, {"a": None}, id="removed"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}, id="inside"),
        pytest.param({"a": [1, 2]}, {"a": [2]}, {"a": [2]}, id="lists are replaced"),
        pytest.param({"a": {"b": 1}}, {"a": 2}, {"a": 2}, id="another kind"),
    ],
)
def test_a_patch_holds_what_differs(before: Any, after: Any, patch: Any) -> None:
    assert merge_patch(before, after) == patch
    assert merged(before, patch) == after


def test_the_status_that_is_stored_already_needs_no_patch() -> None:
    status = JobStatus(restarts=Restarts(failures=1), start_time=NOW)
    assert status_patch(status.to_document(), status) == {}


@pytest.mark.acceptance(6)
def test_what_other_writers_keep_in_the_status_is_not_touched() -> None:
    document = {**JobStatus().to_document(), "whim": {"dollars": 3.5}}
    later = replace(read_status(document), attempt=1)
    assert status_patch(document, later) == {"attempt": 1}


def test_a_field_that_is_unset_is_removed() -> None:
    document = JobStatus(start_time=NOW).to_document()
    assert status_patch(document, JobStatus()) == {"startTime": None}


def test_an_unreadable_field_counts_as_absent_and_the_rest_is_kept() -> None:
    document = {"world": {"number": 7}, "restarts": {"failures": 2}}
    status = read_status(document)
    assert status.world is None
    assert status.restarts.failures == 2
    assert recorded_number(document) == 7


@pytest.mark.parametrize("document", [None, {}, {"world": None}, {"world": {"number": "x"}}])
def test_a_job_that_never_had_a_world_has_number_zero(document: Any) -> None:
    assert recorded_number(document) == 0


# --- World numbers ---


@pytest.mark.parametrize("document", [{}, {"world": WORLD}])
def test_recording_a_number_changes_nothing_else(document: dict[str, Any]) -> None:
    stored = merged(document, number_patch(9))
    assert recorded_number(stored) == 9
    assert {**stored, "recordedWorld": None} == {**document, "recordedWorld": None}


@pytest.mark.parametrize("document", [{}, {"world": WORLD}])
def test_the_reconciler_never_lowers_a_recorded_number(document: dict[str, Any]) -> None:
    before = replace(read_status(document), attempt=1)
    stored = merged(document, number_patch(9))
    after = merged(stored, status_patch(stored, before))
    assert recorded_number(after) == 9
    assert after["attempt"] == 1


def test_a_status_of_an_older_world_never_lowers_the_number() -> None:
    older = JobStatus(world=WorldStatus(2, 2, NOW, 10))
    assert "world" not in status_patch({**older.to_document(), "world": WORLD}, older)


def test_a_job_of_a_controller_that_kept_the_number_in_the_world_goes_on_above_it() -> None:
    assert recorded_number({"world": WORLD}) == 3


@pytest.mark.parametrize(("before", "growths"), [({"world": WORLD}, 1), ({}, 0)])
def test_a_recorded_world_is_reported_as_new_once_it_is_published(
    before: dict[str, Any], growths: int
) -> None:
    stored = merged(before, number_patch(4))
    found = report(seen(status=read_status(stored), world=world(4, size=3)), NOW)
    assert found.world is not None
    assert (found.world.number, found.world.size, found.world.step) == (4, 3, 100)
    assert found.growths == growths
