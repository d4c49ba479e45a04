"""How a case is judged and told; that each case does harm is shown by the benchmark itself."""

from pathlib import Path
from typing import Any

from bench.train.peers.steps import StepDone
from bench.train.survival import report
from bench.train.survival.cases import CASES, checkpoints
from bench.train.survival.trial import furthest, reached, standstill
from spotrain.train.checkpoint import Catalogue, CheckpointId


def step(number: int, *, at: float) -> StepDone:
    return StepDone(at=at, worker="a", world="1", size=1, rank=0, step=number)


def test_steps_that_are_done_again_are_no_progress() -> None:
    done = [step(9, at=1.0), step(10, at=2.0), step(6, at=8.0), step(11, at=9.0)]
    assert furthest(done, until=5.0) == 10
    assert reached(done, 11)
    assert not reached(done, 12)
    assert standstill(done, since=2.5) == 6.5


def test_training_that_goes_on_stands_still_for_a_step_at_most() -> None:
    done = [step(number, at=float(number)) for number in range(1, 20)]
    assert standstill(done, since=5.5) == 1


def test_only_published_checkpoints_are_torn(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "checkpoints")
    published = catalogue.stage(CheckpointId(1, 5), {"tracked": {}}, epoch=0, cursor=0)
    published.publish()
    catalogue.stage(CheckpointId(1, 9), {"tracked": {}}, epoch=0, cursor=0)
    (torn,) = checkpoints(tmp_path)
    assert torn.parent.name == published.folder


def found(**changes: Any) -> dict[str, Any]:
    alive = {"fits": True, "survives": True, "standstill": 0.5}
    dead = {"fits": True, "survives": False, "why": "every agent has ended", "steps": 0}
    ours = {case.name: [alive] for case in CASES} | changes
    stock = {case.name: [{"fits": False} if case.needs_service else dead] for case in CASES}
    return {
        "at": "2026-08-11T10:00:00",
        "machine": {"cpu": "X", "cores": 2, "python": "3.11", "load_before": [1.0]},
        "load_after": [2.0],
        "rounds": 1,
        "limit_seconds": 120,
        "survival": {"session": ours, "stock": stock},
    }


def test_a_job_that_lives_through_everything_is_told_so() -> None:
    text = report.block(found())
    assert "ours lives through all of them: met" in text
    assert "| rank 0 is killed | yes, 0.5 s | no: every agent has ended |" in text
    assert f"| lived through | {len(CASES)} of {len(CASES)} | 0 of 7 |" in text


def test_one_case_that_ends_the_job_misses_the_goal() -> None:
    dead = {"fits": True, "survives": False, "why": "not within 120 s", "steps": 3}
    text = report.block(found(torn=[dead]))
    assert "missed" in text
    assert "no: not within 120 s" in text
