"""A command line that cannot be read: one line with what was typed, the rule, and what to type."""

from pathlib import Path

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import VERBS, load_verb, main
from spotrain.cli.usage import OF_A_CLUSTER


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a cluster nor a job on this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))


def refusal_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of it, without the name of the program."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    return said.err.removeprefix("spotrain: ").rstrip("\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param("lst", "there is no verb 'lst'. Did you mean list?", id="verb"),
        pytest.param("zzz", "no verb 'zzz'. spotrain --help lists all.", id="verb-like-none"),
        pytest.param("list --locl", "no option --locl. Did you mean --local?", id="option"),
        pytest.param("list -q", "no option -q. spotrain list --help", id="option-like-none"),
        pytest.param(
            "submit a --gpus 1 --gpu-typ t4 x.py", "Did you mean --gpu-type", id="gpu-type"
        ),
        pytest.param(
            "submit a --gpus 1 x.py --lr 1", "stands behind --: -- train.py --lr", id="scripts-own"
        ),
        pytest.param("submit a --gpus 0 x.py", "--gpus 0: give a whole number of at", id="none"),
        pytest.param("scale a --gpus -3", "--gpus -3: give a whole number of at least", id="less"),
        pytest.param("scale a --gpus x", "--gpus 'x': give a whole number of at", id="letters"),
        pytest.param("scale a --gpus 1.5", "--gpus 1.5: give a whole number of", id="a-half"),
        pytest.param("scale a --gpus", "--gpus needs a value.", id="nothing"),
        pytest.param(
            "run a --port 70000", "--port 70000: give a whole number from 0 to", id="port"
        ),
        pytest.param("cost --days x", "--days 'x': give a number.", id="days"),
        pytest.param("list -o xml", "'xml': give table, json, yaml or name.", id="choice"),
        pytest.param("list --local=1", "--local takes no value.", id="flag"),
        pytest.param("list a b", "takes fewer words: 'a b' is too much. spotrain list", id="words"),
        pytest.param("status", "NAME is missing. Name of the job. spotrain status", id="missing"),
        pytest.param("submit a x.py", "--gpus is missing. GPUs of all workers", id="no-gpus"),
    ],
)
def test_a_slip_is_told_with_its_rule(
    words: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refusal_of(words.split(), capsys)


@pytest.mark.parametrize("verb", VERBS)
def test_the_jobs_of_this_machine_lie_in_no_cluster(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {name for each in load_verb(verb).params for name in each.opts}
    of_a_cluster = sorted(OF_A_CLUSTER & names)
    needed = {"submit": "a --gpus 1 x.py", "scale": "a --gpus 1", "list": "", "doctor": ""}
    if "--local" not in names:
        return
    for option in of_a_cluster:
        words = [
            verb,
            "--local",
            option,
            "x",
            *needed.get(verb, "" if verb == "gpus" else "a").split(),
        ]
        assert f"--local with {option}: " in refusal_of(words, capsys)


def test_what_the_environment_says_of_a_cluster_is_no_slip(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTRAIN_CONTEXT", "prod")
    with pytest.raises(SystemExit) as ended:
        main(["list", "--local"])
    assert ended.value.code == 0
    assert "no jobs on this machine" in capsys.readouterr().err
