"""A job that is followed from its submission: where it is, what it says, and how it ends."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.following import follow
from spotrain.cli.job_view import JobView, view
from spotrain.cli.log_sources import Line
from tests.cli.documents import job


def seen(state: str, **status: Any) -> JobView:
    kind = "Running" if state == "Pending" else state
    condition = {
        "type": kind,
        "status": "False" if state == "Pending" else "True",
        "reason": "Because",
        "message": "no node yet",
    }
    return view(job(status={"state": state, "conditions": [condition], **status}))


def test_it_tells_where_the_job_is_until_its_first_line_and_then_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    has_started, has_ended = threading.Event(), threading.Event()

    def views() -> Iterator[JobView]:
        yield seen("Pending")
        yield seen("Running")
        has_started.set()
        has_ended.wait()
        yield seen("Succeeded")

    def lines() -> Iterator[Line]:
        has_started.wait()
        yield Line(1, "epoch 1")
        has_ended.set()
        yield Line(0, "epoch 2")

    last = follow(views(), lines())
    assert last
    assert last.state == "Succeeded"
    told = capsys.readouterr()
    assert told.out == "[1] epoch 1\n[0] epoch 2\n"
    assert told.err.splitlines()[0] == "digits: Pending, 0 of 2 workers: no node yet"
    assert "digits: Running" in told.err


def test_where_lines_cannot_be_had_that_is_told_once_and_the_job_is_followed_to_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    is_refused = threading.Event()

    def views() -> Iterator[JobView]:
        yield seen("Pending")
        is_refused.wait()
        yield seen("Failed")

    def lines() -> Iterator[Line]:
        is_refused.set()
        raise UserError("the archive does not run.", exit_code=NO_CLUSTER)
        yield

    last = follow(views(), lines())
    assert last
    assert last.state == "Failed"
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("the archive does not run.") == 1


def test_a_job_that_can_no_longer_be_seen_ends_it_with_the_reason() -> None:
    def views() -> Iterator[JobView]:
        yield seen("Running")
        raise UserError("the cluster does not answer.", exit_code=NO_CLUSTER)

    def lines() -> Iterator[Line]:
        threading.Event().wait()
        yield Line(0, "")

    with pytest.raises(UserError, match="does not answer"):
        follow(views(), lines())
