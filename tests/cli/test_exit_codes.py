"""The table of exit codes in docs/cli.md, over all verbs: the same fault has the same code."""

import re
from pathlib import Path

import pytest

from spotrain.cli import errors
from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import VERBS, load_verb, main
from spotrain.cli.pipes import UNREAD
from tests.docs.pages import ROOT

WORDS = {
    "init": "project",
    "run": "job.yaml --local",
    "gpus": "",
    "submit": "zzz --gpus 1 train.py",
    "sweep": "zzz",
    "list": "",
    "status": "zzz",
    "describe": "zzz",
    "explain": "zzz",
    "logs": "zzz",
    "checkpoints": "zzz",
    "stop": "zzz",
    "resume": "zzz",
    "scale": "zzz --gpus 1",
    "delete": "zzz",
    "cost": "zzz",
    "drill": "zzz",
    "board": "zzz",
    "report": "zzz",
    "doctor": "",
    "simulate": "--trace trace.csv",
}
"""Verb -> what has to be said at least; zzz is no job."""
NEED_NO_CLUSTER = {"init", "run", "simulate"}
NAME_A_JOB = {verb for verb, words in WORDS.items() if "zzz" in words} - {"submit"}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a cluster nor a job on this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))


def code_of(verb: str, *more: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main([verb, *more, *WORDS[verb].split()])
    return ended.value.code


def test_every_verb_is_asked_what_it_needs() -> None:
    assert WORDS.keys() == VERBS.keys()
    with_cluster = {
        verb for verb in VERBS if any("--context" in each.opts for each in load_verb(verb).params)
    }
    assert with_cluster == VERBS.keys() - NEED_NO_CLUSTER


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_that_there_is_not_is_wrong_usage(verb: str) -> None:
    assert code_of(verb, "--no-such-option") == errors.USAGE


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - NEED_NO_CLUSTER - {"doctor"}))
def test_without_a_cluster_every_verb_says_what_to_do(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(verb) == errors.NO_CLUSTER
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("spotrain: no cluster: ")
    assert "--context" in said.err
    assert said.err.count("\n") == 1


def test_to_a_doctor_a_missing_cluster_is_a_check_that_fails() -> None:
    assert code_of("doctor") == errors.JOB_FAILED


@pytest.mark.parametrize("verb", sorted(NAME_A_JOB))
def test_a_job_that_there_is_not_is_not_found(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(verb, "--local") == errors.NOT_FOUND
    said = capsys.readouterr()
    assert said.out == ""
    assert "zzz" in said.err
    assert said.err.count("\n") == 1


def test_the_page_tells_every_code_that_there_is() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert told == {code for name, code in vars(errors).items() if name.isupper()} | {UNREAD}
