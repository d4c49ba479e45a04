"""Training frameworks through interruptions, with real agents and real trainers."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract
from spotrain.ledger.exactness import Exactness
from spotrain.worlds import Limits, Reason
from tests.train.fleet import fleet
from tests.train.story import audit_of, reaches_its_end, shrinks_to_one

SCRIPTS = Path(__file__).parent / "scripts"
LIMITS = Limits(min_size=1, max_size=3, desired_size=3, growth_delay_seconds=0.2, max_restarts=0)
HANG_SECONDS = 600
"""Importing a framework takes eight seconds of a core, and the machine may be busy."""

pytestmark = [
    pytest.mark.timeout(3 * HANG_SECONDS),
    pytest.mark.parametrize(
        "script",
        [
            pytest.param(
                SCRIPTS / name,
                marks=pytest.mark.skipif(
                    importlib.util.find_spec(package) is None,
                    reason=f"the extra `{package}` is not installed",
                ),
                id=package,
            )
            for package, name in (
                ("lightning", "lightning_session.py"),
                ("transformers", "huggingface_session.py"),
            )
        ],
    ),
]


async def test_a_trainer_lives_through_growth_notice_and_loss_and_counts_every_sample_once(
    tmp_path: Path, script: Path
) -> None:
    output = tmp_path / "out"
    command = [str(script), str(output)]
    async with fleet(tmp_path, command, LIMITS, hang_seconds=HANG_SECONDS) as job:
        for pod in "abc":
            await job.start(pod)
        await job.until_step(5, size=3)
        await shrinks_to_one(job)
        report, exact = await reaches_its_end(job)
    planned = (Reason.GROWTH, Reason.NOTICE)
    lost = [chapter.steps_lost for chapter in report.history if chapter.reason in planned]
    assert lost == [0] * len(lost)
    assert {chapter.reason for chapter in report.history} >= {Reason.NOTICE, Reason.LOSS}
    assert exact.epochs_checked >= 1
    final = final_of(output)
    assert final["evaluations"] == final["epochs"] == exact.epochs_checked
    assert "eval_loss" in report.metrics


def test_an_interrupted_run_ends_bit_equal_to_an_undisturbed_one(
    tmp_path: Path, script: Path
) -> None:
    reference = start(script, tmp_path / "reference", pause=0)
    interrupted = start(script, tmp_path / "out", pause=0.02)
    assert interrupted.stdout is not None
    for line in interrupted.stdout:
        if line.startswith("epoch 1"):
            break
    interrupted.send_signal(signal.SIGTERM)
    interrupted.communicate()
    assert not (tmp_path / "out" / "final.json").exists()
    again = start(script, tmp_path / "out", pause=0)
    for process in (reference, again):
        process.communicate()
        assert process.returncode == 0
    assert final_of(tmp_path / "out") == final_of(tmp_path / "reference")
    exact = audit_of(tmp_path / "out", tmp_path / "out" / "samples")
    assert exact == Exactness(0, 0, padding=0, epochs_checked=3, problems=())


def start(script: Path, output: Path, *, pause: float) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OMP_NUM_THREADS": "1", contract.ENV_SAMPLE_LOG: str(output / "samples")}
    command = [sys.executable, str(script), str(output), "--epochs", "3", "--pause", str(pause)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def final_of(output: Path) -> dict[str, Any]:
    final: dict[str, Any] = json.loads((output / "final.json").read_text())
    return final
