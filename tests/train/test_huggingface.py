"""Hugging Face's Trainer through interruptions, with real agents and real trainers."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract
from spotrain.ledger.exactness import Exactness, audit, read_commits, read_sample_log
from spotrain.worlds import Limits, Reason
from tests.train.fleet import fleet

pytest.importorskip("transformers", reason="the extra `transformers` is not installed")

SCRIPT = Path(__file__).parent / "scripts" / "huggingface_session.py"
SAMPLES = 400
LIMITS = Limits(min_size=1, max_size=3, desired_size=3, growth_delay_seconds=0.2, max_restarts=0)
HANG_SECONDS = 600
"""Importing the Trainer takes eight seconds of a core, and the machine may be busy."""


def audit_of(output: Path, samples: Path) -> Exactness:
    commits = read_commits(output / "checkpoints")
    return audit(size=SAMPLES, commits=commits, consumed=read_sample_log(samples))


@pytest.mark.timeout(3 * HANG_SECONDS)
async def test_a_trainer_lives_through_growth_notice_and_loss_and_counts_every_sample_once(
    tmp_path: Path,
) -> None:
    output = tmp_path / "out"
    command = [str(SCRIPT), str(output)]
    async with fleet(tmp_path, command, LIMITS, hang_seconds=HANG_SECONDS) as job:
        for pod in "abc":
            await job.start(pod)
        await job.until_step(5, size=3)
        job.notice("b")
        await job.until_step(5, size=2)
        assert await job.exit_code("b") == contract.EXIT_NOTICE
        job.kill(job.report.history[-1].members[0])
        await job.until_step(5, size=1)
        job.let_finish()
        report = await job.until(lambda report: report.outcome != "")
    assert (report.outcome, report.restarts) == ("succeeded", 0)
    planned = (Reason.GROWTH, Reason.NOTICE)
    lost = [chapter.steps_lost for chapter in report.history if chapter.reason in planned]
    assert lost == [0] * len(lost)
    assert {chapter.reason for chapter in report.history} >= {Reason.NOTICE, Reason.LOSS}
    exact = audit_of(output, tmp_path / "samples")
    assert (exact.lost, exact.repeated, exact.problems) == (0, 0, ())
    assert exact.epochs_checked >= 1
    assert json.loads((output / "final.json").read_text())["evaluations"] == exact.epochs_checked
    assert "eval_loss" in report.metrics


@pytest.mark.timeout(3 * HANG_SECONDS)
def test_an_interrupted_run_ends_bit_equal_to_an_undisturbed_one(tmp_path: Path) -> None:
    reference = start(tmp_path / "reference", pause=0)
    interrupted = start(tmp_path / "out", pause=0.02)
    assert interrupted.stdout is not None
    for line in interrupted.stdout:
        if line.startswith("epoch 1."):
            break
    interrupted.send_signal(signal.SIGTERM)
    interrupted.communicate()
    assert not (tmp_path / "out" / "final.json").exists()
    again = start(tmp_path / "out", pause=0)
    for process in (reference, again):
        process.communicate()
        assert process.returncode == 0
    assert final_of(tmp_path / "out") == final_of(tmp_path / "reference")
    exact = audit_of(tmp_path / "out", tmp_path / "out" / "samples")
    assert exact == Exactness(0, 0, padding=0, epochs_checked=3, problems=())


def start(output: Path, *, pause: float) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OMP_NUM_THREADS": "1", contract.ENV_SAMPLE_LOG: str(output / "samples")}
    command = [sys.executable, str(SCRIPT), str(output), "--epochs", "3", "--pause", str(pause)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def final_of(output: Path) -> dict[str, Any]:
    final: dict[str, Any] = json.loads((output / "final.json").read_text())
    return final
