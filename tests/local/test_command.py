"""`python -m spotrain.local` as a person uses it."""

import json
import re
import socket
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain import contract
from spotrain.local.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "k8s" / "examples" / "digits.yaml"
SESSION = ROOT / "tests" / "train" / "scripts" / "session.py"


def job_file(folder: Path, *options: str, replicas: int = 1, **spec: Any) -> Path:
    document = yaml.safe_load(EXAMPLE.read_text())
    document["spec"] |= {"maxReplicas": replicas, **spec}
    worker = document["spec"]["replicaSpecs"]["Worker"]
    worker["replicas"] = replicas
    container = worker["template"]["spec"]["containers"][0]
    container["args"] = [str(SESSION), "/mnt/efs/out", "--epochs", "1", *options]
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def run_file(folder: Path, job: Path) -> subprocess.CompletedProcess[str]:
    (folder / "efs").mkdir()
    return subprocess.run(
        [
            *(sys.executable, "-m", "spotrain.local", str(job)),
            *("--volume", f"efs={folder / 'efs'}", "--folder", str(folder / "run")),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_job_file_runs_to_its_end(tmp_path: Path) -> None:
    done = run_file(tmp_path, job_file(tmp_path, "--pause", "0"))
    assert done.returncode == contract.EXIT_OK, done.stdout + done.stderr
    assert "world 1: 1 worker trains" in done.stdout
    assert list((tmp_path / "efs" / "out" / "checkpoints").glob("*.json"))
    assert (tmp_path / "run" / "world-number").read_text() == "1\n"
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    (world,) = status["history"]
    assert (world["reason"], world["restoredStep"]) == ("finished", 0)
    assert world["committedStep"] == world["lastStep"] == status["progress"]["step"]
    totals = status["ledger"]["totals"]
    lasted = timedelta(seconds=totals["wantedSeconds"])
    assert lasted == _moment(status["completionTime"]) - _moment(status["ledger"]["since"])
    assert 0 < totals["usefulSeconds"] < totals["wantedSeconds"]
    assert totals["lostSeconds"]["forming"] > 0


@pytest.mark.acceptance(24)
def test_a_job_that_hangs_is_restarted_past_its_deadline_and_tells_where_it_hung(
    tmp_path: Path,
) -> None:
    """A machine that is slower than the deadline costs more restarts, and nothing else."""
    hasty: dict[str, Any] = {"elastic": {"progressDeadlineSeconds": 15}, "backoffLimit": 20}
    done = run_file(tmp_path, job_file(tmp_path, "--hang-at", "60", **hasty))
    assert done.returncode == contract.EXIT_OK, done.stdout + done.stderr
    assert "WorldStalled: world 1 has done no step after " in done.stdout
    assert re.search(r"RanksBehind: .*rank 0: in step \d+, session\.py:\d+ hang", done.stdout)


@pytest.mark.acceptance(24)
def test_a_job_that_hangs_before_its_first_step_is_started_again_and_tells_where(
    tmp_path: Path,
) -> None:
    hasty: dict[str, Any] = {"elastic": {"firstStepDeadlineSeconds": 15}, "backoffLimit": 20}
    done = run_file(tmp_path, job_file(tmp_path, "--hang-at", "0", "--pause", "0", **hasty))
    assert done.returncode == contract.EXIT_OK, done.stdout + done.stderr
    assert "WorldStalled: world 1 has not done the job's first step within 15 s" in done.stdout
    assert re.search(r"RanksBehind: .*rank 0: in step 1, session\.py:\d+ hang", done.stdout)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [", "cannot be read as YAML", id="no-yaml"),
        pytest.param("- a", "holds no mapping", id="no-mapping"),
        pytest.param("kind: ElasticJob", "apiVersion", id="no-job"),
    ],
)
def test_a_bad_file_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    assert main([str(path), "--folder", str(tmp_path / "run")]) == contract.EXIT_USAGE
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.yaml")]) == contract.EXIT_USAGE
    assert "none.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--image", "nowhere"], "--image: nowhere is no folder", id="image"),
        pytest.param(["--volume", "efs=nowhere"], "--volume efs: nowhere is no", id="volume"),
        pytest.param(["--machines", "0"], "needs 1 workers at least", id="machines"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    arguments = [str(job_file(tmp_path)), "--folder", str(tmp_path / "run"), *options]
    assert main(arguments) == contract.EXIT_USAGE
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_failed_job_ends_with_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job_file(tmp_path)
    document = yaml.safe_load(path.read_text())
    document["spec"]["backoffLimit"] = 0
    worker = document["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    worker["args"] = ["imagenet.py", "--arch", "foo", "."]
    path.write_text(yaml.safe_dump(document))
    folder = ["--folder", str(tmp_path / "run"), "--volume", f"efs={tmp_path}"]
    assert main([str(path), *folder]) == contract.EXIT_FAILED
    assert "--arch is 'foo'" in capsys.readouterr().err


def test_a_volume_without_a_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(job_file(tmp_path)), "--volume", "efs"]) == contract.EXIT_USAGE
    assert "CLAIM=FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["99999", "-1", "http", "²"])
def test_what_is_no_port_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], port: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(job_file(tmp_path)), f"--port={port}"])
    assert ended.value.code == contract.EXIT_USAGE
    assert capsys.readouterr().err.endswith("is no port: give 0 to 65535, 0 for a free one\n")


def test_a_taken_port_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        folder = ["--folder", str(tmp_path / "run"), "--volume", f"efs={tmp_path}"]
        assert main([str(job_file(tmp_path)), "--port", port, *folder]) == contract.EXIT_FAILED
    assert port in capsys.readouterr().err
