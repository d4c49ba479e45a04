"""Real workers under real launchers are interrupted, and what it cost is told."""

import subprocess
from pathlib import Path

import pytest

from bench.train.peers.launchers import LEAVING, SESSION
from bench.train.peers.pauses import change_after
from bench.train.peers.team import NeverCame, Team, team

FAST = ("--step-seconds", "0.01")


def test_a_loss_is_survived_and_timed(tmp_path: Path) -> None:
    with team(SESSION, tmp_path / "team", max_size=2, options=FAST) as two:
        two.start("a", "b")
        two.until_training(size=2, steps=5)
        at = two.kill(two.worker_of_rank(0))
        change = two.until(lambda steps: change_after(steps, at, size=1), seconds=120)
        assert change.from_event > 0
    assert left_of(two) == []


def test_the_peer_that_leaves_on_a_notice_loses_no_step(tmp_path: Path) -> None:
    """Also holds its use of torch's private names against the installed torch."""
    with team(LEAVING, tmp_path / "team", max_size=2, options=FAST) as two:
        two.start("a", "b")
        two.until_training(size=2, steps=5)
        at = two.notice(two.worker_of_rank(1))
        change = two.until(lambda steps: change_after(steps, at, size=1), seconds=120)
        assert change.lost_steps == 0
    assert left_of(two) == []


def test_waiting_ends_when_every_agent_has_ended(tmp_path: Path) -> None:
    with team(SESSION, tmp_path / "team", max_size=1, options=("--no-such-option",)) as one:
        one.agents["a"] = subprocess.Popen(["true"])
        with pytest.raises(NeverCame, match="every agent has ended"):
            one.until_training(size=1, steps=1)


def left_of(closed: Team) -> list[int]:
    return [pid for worker in [*closed.agents, "service"] for pid in closed.processes_of(worker)]
