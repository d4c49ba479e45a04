"""A script that no worker would find is refused before anything is sent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain.cli.errors import UserError
from spotrain.cli.init import example_job
from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import main
from spotrain.cli.script import Place, nearest, refuse_missing_script
from tests.cli.stalling_server import stalling_server


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with scripts, of which some stay at home."""
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    made = tmp_path / "project"
    for name in (
        "train.py",
        "models/train_big.py",
        "notes/draft.py",
        "notes/app/__main__.py",
        ".venv/tool.py",
        "run.sh",
        "app/__main__.py",
        "..odd/zz.py",
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).touch()
    (made / ".gitignore").write_text("notes/\n!notes/app/__main__.py\n")
    (tmp_path / "outside.py").touch()
    (made / "near.py").symlink_to("models/train_big.py")
    (made / "away.py").symlink_to("../outside.py")
    (made / "absolute").symlink_to(made / "models")
    (made / "ignored.py").symlink_to("notes/draft.py")
    (made / "far.py").symlink_to("absolute/train_big.py")
    (made / "round").symlink_to("../project")
    monkeypatch.chdir(made)
    return made


@pytest.mark.parametrize(
    ("word", "says"),
    [
        pytest.param("missing.py", "no such script in .*/project, which is sent", id="missing"),
        pytest.param("trian.py", r"Did you mean train\.py\?", id="slip"),
        pytest.param("train_big.py", r"Did you mean models/train_big\.py\?", id="in-a-folder"),
        pytest.param("project/train.py", r"Did you mean train\.py", id="path-from-elsewhere"),
        pytest.param("zzz", "Give its path from there, or -m", id="like-none"),
        pytest.param("models", "is a folder in", id="folder"),
        pytest.param("notes/draft.py", "stays here by the pattern 'notes/'", id="git"),
        pytest.param("notes/app", "__main__.py: stays here by the pattern 'notes/'", id="below"),
        pytest.param(
            ".venv/tool.py", r"by the pattern '\.venv/'.* are never sent", id="never-sent"
        ),
        pytest.param("../outside.py", "lies outside", id="outside"),
        pytest.param("away.py", r"behind a link to \.\./outside\.py", id="link-to-the-outside"),
        pytest.param("absolute/train_big.py", "behind a link to /", id="absolute-link"),
        pytest.param("far.py", "behind a link to /", id="link-to-a-link"),
        pytest.param("round/train.py", r"behind a link to \.\./project", id="out-and-in-again"),
        pytest.param(
            "ignored.py", r"a link to notes/draft\.py, which stays here", id="link-to-the-ignored"
        ),
    ],
)
def test_a_script_that_is_not_sent_is_told_with_the_way_on(
    project: Path, word: str, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        refuse_missing_script([word], Place(folder=project, about="which is sent", is_sent=True))


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["train.py"], id="there"),
        pytest.param(["./models/../train.py", "--lr", "1"], id="by-a-detour"),
        pytest.param(["run.sh"], id="no-python"),
        pytest.param(["near.py"], id="link-within-the-folder"),
        pytest.param(["-m", "package.train"], id="module"),
        pytest.param(["--nproc-per-node", "2", "train.py"], id="options-of-the-launcher"),
        pytest.param(["/workspace/imagenet.py"], id="in-the-image"),
        pytest.param(["$(SCRIPT)"], id="variable"),
        pytest.param(["app"], id="folder-that-python-runs"),
        pytest.param(["..odd/zz.py"], id="folder-of-an-odd-name"),
        pytest.param([], id="none"),
    ],
)
def test_what_workers_may_find_is_left_to_them(project: Path, arguments: list[str]) -> None:
    refuse_missing_script(arguments, Place(folder=project, about="", is_sent=True))


def test_the_first_word_for_an_image_of_ones_own_may_be_a_command(project: Path) -> None:
    own = Place(folder=project, about="", is_sent=True, takes_commands=True)
    refuse_missing_script(["torchrun", "missing.py"], own)
    with pytest.raises(UserError, match="no such script"):
        refuse_missing_script(["missing.py"], own)


def test_scripts_of_the_same_name_are_named_before_others() -> None:
    assert nearest("a/eval.py", ["a/evil.py", "b/eval.py"]) == ["b/eval.py"]
    assert nearest("a/evel.py", ["a/evil.py", "b/z.py"]) == ["a/evil.py"]


def test_a_script_that_lies_here_and_is_not_sent_is_remarked(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["submit", "exp1", "--gpus", "1", "--gpu-type", "t4", "--"]
    with stalling_server("", tmp_path) as (server, environment):
        _set(environment, monkeypatch)
        for script in ("imagenet.py", "train.py"):
            with pytest.raises(SystemExit):
                main([*words, script])
            remark = capsys.readouterr().err
            assert ("submit it with --code ." in remark) == (script == "train.py")
            server.jobs.clear()


def refusal_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1)
    return said.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["submit", "exp1"], id="submit"),
        pytest.param(["sweep", "exp1", "lr=1,2"], id="sweep"),
    ],
)
def test_no_job_is_sent_without_its_script(
    words: list[str],
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = ["--gpus", "1", "--gpu-type", "t4", "--code", ".", "--", "trian.py"]
    with stalling_server("", tmp_path) as (server, environment):
        _set(environment, monkeypatch)
        assert "Did you mean train.py?" in refusal_of([*words, *more], capsys)
        assert server.jobs == []


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("submit exp1 --gpus 1 --local -- trian.py", id="submit"),
        pytest.param("submit exp1 --gpus 1 --local --code . -- trian.py", id="code"),
        pytest.param("sweep exp1 lr=1,2 --gpus 1 --local -- trian.py", id="sweep"),
        pytest.param("sweep job.yaml lr=1,2 --local", id="sweep-of-a-file"),
        pytest.param("run job.yaml --local", id="run"),
        pytest.param("run job.yaml --local --workdir .", id="workdir"),
    ],
)
def test_no_job_of_this_machine_begins_without_its_script(
    words: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document: Any = example_job("exp1")
    document["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] = [
        "trian.py"
    ]
    (project / "job.yaml").write_text(yaml.safe_dump(document))
    assert "Did you mean train.py?" in refusal_of(words.split(), capsys)
    assert not (project.parent / "shelf" / "jobs").exists()


def test_a_file_in_place_of_a_folder_is_told_what_to_give(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "submit exp1 --gpus 1 --local --code models/train_big.py -- models/train_big.py"
    assert "is a file, and a folder is sent: give the one that it lies in, --code models" in (
        refusal_of(words.split(), capsys)
    )


def _set(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
