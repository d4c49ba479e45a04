"""Uses of the training library that would lose work are errors that say what to do instead."""

import subprocess
import sys
from pathlib import Path

import pytest

import spotrain.train as elastic

SCRIPT = Path(__file__).parent / "scripts" / "misuse.py"


def misuse(output: Path, mode: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(output), mode],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        pytest.param("plain-loader", "Take batches from run.loader", id="plain-loader"),
        pytest.param("no-step", "ended without run.step", id="no-step"),
        pytest.param("step-twice", "once for each optimizer step", id="step-twice"),
        pytest.param("within-step", "Update the model and call run.step() where", id="within-step"),
        pytest.param("unweighed", "call run.backward(loss) instead", id="unweighed"),
        pytest.param("untracked", "run.epochs came before run.track", id="untracked"),
        pytest.param("track-twice", "run.track was called twice", id="track-twice"),
        pytest.param("loader-twice", "run.loader was called twice", id="loader-twice"),
        pytest.param("empty", "the data set is empty", id="empty"),
        pytest.param("stream", "Stream has no length", id="stream"),
    ],
)
def test_what_would_lose_work_is_refused(tmp_path: Path, mode: str, said: str) -> None:
    done = misuse(tmp_path, mode)
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]


def test_another_model_on_an_old_output_is_named(tmp_path: Path) -> None:
    assert misuse(tmp_path, "right").returncode == 0
    done = misuse(tmp_path, "other-model")
    assert "w000001-s00000004 does not fit model" in done.stderr.splitlines()[-1]


def test_damaged_checkpoints_are_not_silently_begun_anew_over(tmp_path: Path) -> None:
    assert misuse(tmp_path, "right").returncode == 0
    for data in (tmp_path / "checkpoints").glob("w*/data-00000.bin"):
        data.write_bytes(b"")
    done = misuse(tmp_path, "right")
    assert done.returncode == 1
    assert "does not silently begin anew" in done.stderr.splitlines()[-1]


def test_a_run_that_is_done_says_so(tmp_path: Path) -> None:
    misuse(tmp_path, "right")
    done = misuse(tmp_path, "right")
    assert "goes on from w000001-s00000004" in done.stderr
    assert "all 1 epochs are done already" in done.stderr


@pytest.mark.parametrize("end", [elastic.WorldEnded, elastic.WorldChanged])
def test_except_exception_does_not_catch_the_end_of_a_world(end: type[BaseException]) -> None:
    assert not issubclass(end, Exception)
