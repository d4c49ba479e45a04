"""A newcomer's first minutes."""

from pathlib import Path

import pytest
import yaml

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import main
from spotrain.job import parse_job


def typed(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_newcomer_gets_from_nothing_to_a_trained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(ENV_FOLDER, raising=False)
    monkeypatch.chdir(tmp_path)
    assert typed("init", "spirals") == 0
    assert "cd spirals && spotrain run job.yaml --local" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "spirals")
    script = Path("train.py")
    script.write_text(script.read_text().replace("EPOCHS = 30", "EPOCHS = 2"))
    assert typed("run", "job.yaml", "--local") == 0
    assert "spirals succeeded" in capsys.readouterr().out
    assert list(Path(".spotrain/efs/output/spirals/checkpoints").glob("*.json"))
    assert typed("describe", "spirals", "--local") == 0
    assert "finished" in capsys.readouterr().out


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
