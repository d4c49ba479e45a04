"""`spotrain run FILE --local` as a person uses it."""

import json
import os
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
from spotrain.archive.folder import Folder
from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import main
from spotrain.ledger.entries import StayEntry, WorldEntry, from_document

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "k8s" / "examples" / "digits.yaml"
SESSION = ROOT / "tests" / "train" / "scripts" / "session.py"


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the jobs of this test live."""
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    return tmp_path / "shelf"


def typed(*words: str) -> int:
    """The exit code of `spotrain` with these words."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def run(*words: str) -> int:
    """The exit code of `spotrain run ... --local` in this process."""
    return typed("run", *words, "--local", "--workdir", str(ROOT / "training-image"))


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
            *(sys.executable, "-m", "spotrain.cli", "run", str(job), "--local"),
            *("--volume", f"efs={folder / 'efs'}"),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=dict(os.environ),
    )


def test_a_job_file_runs_to_its_end_and_leaves_what_a_cluster_would_keep_of_it(
    tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_file(tmp_path, job_file(tmp_path, "--pause", "0"))
    assert done.returncode == contract.EXIT_OK, done.stdout + done.stderr
    assert "world 1: 1 worker trains" in done.stdout
    assert "digits succeeded" in done.stdout
    assert list((tmp_path / "efs" / "out" / "checkpoints").glob("*.json"))
    folder = shelf / "jobs" / "digits"
    assert (folder / "world-number").read_text() == "1\n"
    status = json.loads((folder / "status.json").read_text())
    (world,) = status["history"]
    assert (world["reason"], world["restoredStep"]) == ("finished", 0)
    assert world["committedStep"] == world["lastStep"] == status["progress"]["step"]
    assert status["progress"]["stepsLeft"] == 0
    totals = status["ledger"]["totals"]
    lasted = timedelta(seconds=totals["wantedSeconds"])
    ended_at = status["completionTime"]
    assert lasted == _moment(ended_at) - _moment(status["ledger"]["since"])
    assert 0 < totals["usefulSeconds"] < totals["wantedSeconds"]
    assert totals["lostSeconds"]["forming"] > 0

    archive = Folder(shelf / "archive")
    found = archive.ledger("digits")
    assert (found.job.outcome, found.job.ended_at) == ("succeeded", _moment(ended_at))
    kept = {entry.kind: entry for entry in found.entries}
    assert isinstance(kept["world"], WorldEntry)
    assert kept["world"] == from_document({"kind": "world", **world})
    assert isinstance(kept["stay"], StayEntry)
    assert kept["stay"].ended_at
    assert {node.gone_at is None for node in archive.nodes()} == {False}
    capsys.readouterr()
    assert typed("logs", "digits", "--local", "--world", "1", "--worker", "0") == 0
    assert "train is called" in capsys.readouterr().out
    assert typed("report", "digits", "--local", "-o", "-") == 0
    assert "loss" in capsys.readouterr().out


def test_a_job_whose_output_is_read_by_a_program_says_every_few_seconds_how_far_it_is(
    tmp_path: Path,
) -> None:
    done = run_file(tmp_path, job_file(tmp_path, "--pause", "0.1"))
    assert done.returncode == contract.EXIT_OK, done.stdout + done.stderr
    line = r"digits: Running, 1 of 1 worker, world 1, step \d+, [\d.]+ steps/s, loss \S+, .* left"
    assert re.search(line, done.stdout), done.stdout


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
        pytest.param("kind: Pod", "not an ElasticJob", id="another-kind"),
        pytest.param("kind: ElasticJob", "apiVersion", id="no-job"),
    ],
)
def test_a_bad_file_is_refused_before_anything_starts(
    tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    assert run(str(path)) == contract.EXIT_USAGE
    assert said in capsys.readouterr().err
    assert not (shelf / "jobs").exists()


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path / "none.yaml")) == contract.EXIT_USAGE
    assert "none.yaml" in capsys.readouterr().err


def test_without_local_the_way_to_a_cluster_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", str(job_file(tmp_path))])
    assert ended.value.code == contract.EXIT_USAGE
    assert "spotrain submit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--volume", "efs=nowhere"], "--volume efs: nowhere is no", id="volume"),
        pytest.param(["--volume", "efs"], "CLAIM=FOLDER", id="no-folder"),
        pytest.param(["--machines", "1"], "needs 2 workers at least", id="machines"),
        pytest.param(["--pools", "nowhere.yaml"], "nowhere.yaml: no such file", id="pools"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    job = job_file(tmp_path, replicas=2, minReplicas=2)
    assert run(str(job), *options) == contract.EXIT_USAGE
    assert said in capsys.readouterr().err
    assert not (shelf / "jobs").exists()


def test_a_failed_job_ends_with_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job_file(tmp_path)
    document = yaml.safe_load(path.read_text())
    document["spec"]["backoffLimit"] = 0
    worker = document["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    worker["args"] = ["imagenet.py", "--arch", "foo", "."]
    path.write_text(yaml.safe_dump(document))
    assert run(str(path), "--volume", f"efs={tmp_path}") == contract.EXIT_FAILED
    assert "--arch is 'foo'" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["99999", "-1", "http", "²"])
def test_what_is_no_port_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], port: str
) -> None:
    assert run(str(job_file(tmp_path)), f"--port={port}") == contract.EXIT_USAGE
    assert "--port" in capsys.readouterr().err


def test_a_taken_port_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [str(job_file(tmp_path)), "--port", port, "--volume", f"efs={tmp_path}"]
        assert run(*words) == contract.EXIT_FAILED
    assert port in capsys.readouterr().err
