"""Old worlds and former leaders: one trial of each kind for real, and how a trial is judged."""

from pathlib import Path
from typing import Any

import pytest

from bench.train.fencing import led, report, stalled
from spotrain.ledger.samples import Commit, Key
from spotrain.train.checkpoint import CheckpointId


def test_a_checkpoint_that_is_published_late_does_not_count(tmp_path: Path) -> None:
    with stalled.pair(tmp_path) as job:
        found = stalled.trial(job)
    assert found["was_published"], "the trial showed nothing: the frozen worker published nothing"
    assert not found["counts"]
    assert found["new_world_committed"]
    assert found["newest_is_intact"]


def test_a_former_leader_grants_nothing(tmp_path: Path) -> None:
    with led.pair(tmp_path) as job:
        found = job.trial()
    assert found["granted"] == []
    assert found["newest_is_intact"]


def commit(world: int, step: int, parent: Key | None) -> Commit:
    return Commit(world=world, step=step, epoch=0, cursor=0, parent=parent)


@pytest.mark.parametrize(
    ("parent", "counts"), [pytest.param((1, 5), False, id="beside"), pytest.param((1, 9), True)]
)
def test_a_stale_commit_counts_if_later_work_builds_on_it(parent: Key, counts: bool) -> None:
    commits = [commit(1, 5, None), commit(1, 9, (1, 5)), commit(2, 12, parent)]
    found = stalled.judge(commits, CheckpointId(1, 9))
    assert (found["was_published"], found["counts"]) == (True, counts)


def test_where_the_new_world_commits_nothing_that_is_told() -> None:
    found = stalled.judge([commit(1, 5, None), commit(1, 9, (1, 5))], CheckpointId(1, 9))
    assert not found["new_world_committed"]


def trials(**changes: Any) -> dict[str, Any]:
    common = {"new_world_committed": True, "newest_is_intact": True, "commit_after_seconds": 7.0}
    return {
        "at": "2026-08-11T10:00:00",
        "machine": {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]},
        "load_after": [2.0],
        "stalled": [{**common, "was_published": True, "counts": False, **changes}],
        "led": [{**common, "granted": []}],
    }


def test_the_table_tells_what_was_met() -> None:
    assert report.block(trials()).count("| met |") == 2


@pytest.mark.parametrize("change", [{"counts": True}, {"new_world_committed": False}])
def test_the_table_tells_what_was_missed(change: dict[str, Any]) -> None:
    assert report.block(trials(**change)).count("| missed |") == 1
