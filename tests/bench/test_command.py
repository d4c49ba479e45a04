"""The table of the command line says truly which goals are met, and its jobs are as in life."""

import json
from typing import Any

import pytest

from bench.command import report
from bench.command.jobs import WORKERS, WORLDS, jobs
from bench.command.lines import ANSWERS
from spotrain.cli.job_view import view

CREATED = {"creationTimestamp": "2026-11-01T09:00:00Z"}


def trial(ours: float, theirs: float = 0.1, server: float | None = None) -> dict[str, Any]:
    timed = {"ours": {"seconds": ours, "cpu": ours}, "theirs": {"seconds": theirs, "cpu": theirs}}
    return timed if server is None else {**timed, "server": {"seconds": server, "bytes": 1}}


def found(**changes: dict[str, Any]) -> dict[str, Any]:
    row = {key: trial(0.2) for key in report.ABOUT}
    row |= {"list": trial(1.4, server=0.5), "python": {"seconds": 0.02, "cpu": 0.02}, **changes}
    return {
        "at": "2026-11-22T10:00:00",
        "machine": {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]},
        "load_after": [2.0],
        "jobs": 500,
        "worlds": 50,
        "answers": {name: {"seconds": 0.1, "bytes": 3_100_000} for name in ANSWERS},
        "rounds": [row] * 3,
    }


def test_what_the_server_takes_is_not_counted() -> None:
    text = report.block(found())
    assert "| `list` | 1,400 ms | 100 ms | 500 ms | 900 ms | < 1 s | met |" in text
    assert "missed" not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"help": trial(0.31)},
        {"list": trial(1.6, server=0.5)},
        {"complete-name": trial(1.1)},
    ],
    ids=["help", "list", "tab"],
)
def test_a_goal_that_is_missed_is_told_so(changes: dict[str, Any]) -> None:
    assert report.block(found(**changes)).count("missed") == 1


def test_every_line_is_drawn() -> None:
    assert len(report.figure(found()).rows) == len(report.ABOUT)


def test_a_job_of_the_benchmark_has_all_that_a_status_keeps() -> None:
    ended, running = list(jobs(2, "team"))
    for (document, status), is_over in ((ended, True), (running, False)):
        document["metadata"] |= CREATED
        seen = view(json.loads(json.dumps({**document, "status": status})))
        assert seen.job
        assert seen.status.finished is is_over
        assert (seen.worlds[-1].number, len(seen.worlds)) == (WORLDS, WORLDS)
        assert seen.status.ledger
        assert sum(stay.ended_at is not None for stay in seen.status.ledger.stays) == WORLDS
        assert seen.usd
        assert (seen.steps_per_second is None) is is_over
    assert seen.status.workers.ready == WORKERS
