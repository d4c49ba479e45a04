"""Scripts with a loop of their own: the names that TorchElastic's users look for, and the stop."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from spotrain import contract
from spotrain.train import load_checkpoint, save_checkpoint
from spotrain.worlds import Limits
from tests.train.fleet import fleet

SCRIPT = Path(__file__).parent / "scripts" / "own_loop.py"
LIMITS = Limits(min_size=1, max_size=2, desired_size=2, growth_delay_seconds=0.2, max_restarts=0)


def test_there_is_nothing_to_load_at_first(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path) is None


def test_what_was_saved_last_is_loaded_and_the_newest_few_stay(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        assert save_checkpoint({"weights": torch.full((3,), float(step))}, tmp_path, step=step)
    loaded = load_checkpoint(tmp_path)
    assert loaded is not None
    assert torch.equal(loaded["weights"], torch.full((3,), 4.0))
    assert len(list((tmp_path / "checkpoints").glob("*.json"))) == 3


def test_a_step_that_is_saved_already_is_not_saved_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert save_checkpoint({"lr": 0.1}, tmp_path, step=1)
    assert not save_checkpoint({"lr": 0.2}, tmp_path, step=1)
    assert load_checkpoint(tmp_path) == {"lr": 0.1}
    assert "already published" in caplog.text


LOOP_WITHOUT_STEPS = """
import sys
import spotrain.train as elastic
from spotrain.train.solo import SoloChannel

def train(run):
    run.should_stop()

SoloChannel.progress = lambda self, world, **report: print("told of step", report["step"])
elastic.run(train, output=sys.argv[1])
"""


def test_a_loop_that_counts_no_steps_tells_that_it_has_begun(tmp_path: Path) -> None:
    """Or it would seem to wait for its first step for ever, and be started again."""
    command = [sys.executable, "-c", LOOP_WITHOUT_STEPS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, "told of step 0\n"), done.stderr


async def test_a_loop_of_its_own_goes_through_a_notice_without_losing_a_sample(
    tmp_path: Path,
) -> None:
    async with fleet(tmp_path, [str(SCRIPT), str(tmp_path / "out")], LIMITS) as job:
        await job.start("a")
        await job.start("b")
        await job.until_step(5, size=2)
        job.notice("b")
        await job.until_step(5, size=1)
        assert await job.exit_code("b") == contract.EXIT_NOTICE
        (tmp_path / "out").mkdir(exist_ok=True)
        job.let_finish()
        report = await job.until(lambda report: report.outcome != "")
        assert await job.exit_code("a") == contract.EXIT_OK
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    assert report.history[-1].first_step == (report.history[-2].committed_step or 0) + 1
