"""A newcomer's first minutes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from spotrain.cli.main import main
from spotrain.job import parse_job

ROOT = Path(__file__).resolve().parents[2]


def typed(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def first_commands(page: str) -> list[str]:
    """Of the page's first block of commands, without what is said of them."""
    block = page.split("```console\n")[1].split("```")[0]
    return [line[2:].partition(" #")[0].strip() for line in block.splitlines()]


def test_a_newcomer_gets_from_nothing_to_a_report_by_the_five_commands_of_the_readme(
    tmp_path: Path,
) -> None:
    """Each as a shell reads it; the installation is taken for done, and trains shorter."""
    commands = first_commands((ROOT / "README.md").read_text())
    assert len(commands) == 5
    assert commands[:2] == ["make install", 'export PATH="$PWD/.venv/bin:$PATH"']
    shorten = "sed -i 's/^EPOCHS = .*/EPOCHS = 2/' train.py"
    script = "\n".join(["set -e", commands[2], shorten, *commands[3:]])
    environment = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}

    def shell(typed: str, folder: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", typed],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Next: spotrain report spirals --local" in shell(script, tmp_path)
    project = tmp_path / "spirals"
    assert "loss" in (project / "spirals-report.html").read_text()
    assert list((project / ".spotrain/efs/output/spirals/checkpoints").glob("*.json"))
    assert first_commands((project / "README.md").read_text()) == commands[3:]

    again = shell("spotrain run job.yaml --local", project)
    assert "finished the training at step 64." in again
    assert "nothing left to train: a checkpoint of step 64 was in its output" in again


def test_the_script_of_a_project_goes_on_from_the_very_end_of_an_epoch(tmp_path: Path) -> None:
    """Its epochs are one step here, so that a save at any step is one at an epoch's end."""
    assert typed("init", str(tmp_path / "short")) == 0
    script = tmp_path / "short" / "train.py"
    text = re.sub("^POINTS = .*", "POINTS = 128", script.read_text(), flags=re.MULTILINE)
    script.write_text(re.sub("^EPOCHS = .*", "EPOCHS = 10**6", text, flags=re.MULTILINE))

    def until_noticed() -> tuple[str, str]:
        """The first epoch that it tells of, and what it says on its way out."""
        with subprocess.Popen(
            [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as training:
            assert training.stdout
            first = training.stdout.readline()
            training.terminate()
            return first, training.communicate(timeout=240)[1]

    first, said = until_noticed()
    assert first.startswith("epoch 1 of"), said
    again, said = until_noticed()
    assert re.match(r"epoch \d+ of", again), said
    assert "sample 128" in said
    assert "Traceback" not in said


def test_the_job_of_a_project_is_one_that_a_cluster_takes(tmp_path: Path) -> None:
    assert typed("init", str(tmp_path / "My_project.1")) == 0
    job = parse_job(yaml.safe_load((tmp_path / "My_project.1" / "job.yaml").read_text()))
    assert (job.name, job.replicas, job.gpus_per_worker) == ("my-project-1", 2, 1)


def test_nothing_that_is_there_is_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("mine")
    assert typed("init", str(tmp_path)) == 5
    assert "train.py is there already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]
    assert (tmp_path / "train.py").read_text() == "mine"


def test_a_folder_that_can_name_no_job_is_refused(tmp_path: Path) -> None:
    assert typed("init", str(tmp_path / "___")) == 2
    assert not (tmp_path / "___").exists()
