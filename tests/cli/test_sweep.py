"""`spotrain sweep` against a server that answers and stalls, and on this machine."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from rich.console import Console

from spotrain import contract
from spotrain.cli import output, sweep_watch
from spotrain.cli.errors import UserError
from spotrain.cli.job_output import output_of
from spotrain.cli.job_view import view
from spotrain.cli.main import load_verb, main
from spotrain.cli.sweep_acts import ORDER, TAKEN, Words, sort_words
from spotrain.cli.sweep_jobs import members
from spotrain.cli.sweep_results import Result, arranged, headline, ordered, tabulate
from tests.cli.documents import job
from tests.cli.stalling_server import SENDING, StallingServer, stalling_server
from tests.cli.terminal import CTRL_C, terminal

GRID = ("sweep", "exp1", "lr=0.1,0.01", "batch=16,32", "--gpus", "1", "--gpu-type", "t4")
SCRIPT = ("--", "train.py", "--epochs", "3")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        pytest.param("exp1", Words("exp1", [], []), id="name"),
        pytest.param(
            "exp1 lr=1 b=2 t.py a=1", Words("exp1", ["lr=1", "b=2"], ["t.py", "a=1"]), id="script"
        ),
        pytest.param("exp1 t.py a=1", Words("exp1", [], ["t.py", "a=1"]), id="list"),
        pytest.param("exp1 lr=1 --x=1", Words("exp1", ["lr=1"], ["--x=1"]), id="option"),
    ],
)
def test_the_script_begins_where_no_value_is_given(typed: str, found: Words) -> None:
    assert sort_words(typed.split()) == found


def types(*words: str, environment: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_dry_run_writes_every_job_and_sends_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        words = (*GRID, "--at-most", "2", "--dry-run", *SCRIPT)
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 0
        assert server.jobs == []
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    arguments = [
        each["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"]
        for each in documents
    ]
    assert arguments == [
        ["train.py", "--epochs", "3", f"--lr={lr}", f"--batch={batch}"]
        for lr in ("0.1", "0.01")
        for batch in ("16", "32")
    ]
    assert {each["spec"]["sweep"]["atMost"] for each in documents} == {2}
    assert len({each["metadata"]["name"] for each in documents}) == 4


def test_an_output_that_is_given_is_no_two_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or one would restore what the other has saved."""
    with stalling_server("", tmp_path) as (_, environment):
        words = (*GRID, "--env", f"{contract.ENV_OUTPUT}=gs://team/exp1", "--dry-run", *SCRIPT)
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 0
    for document in yaml.safe_load_all(capsys.readouterr().out):
        name = document["metadata"]["name"]
        assert output_of(document, name) == f"gs://team/{name}"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param("exp1 --gpus 1 -- t.py", 2, "nothing to try", id="nothing"),
        pytest.param("exp1 lr=1", 2, "needs --gpus and a script", id="no-script"),
        pytest.param("exp1 lr=1 -- t.py", 2, "needs --gpus and a script", id="no-gpus"),
        pytest.param("lr=1,2 --gpus 1 -- t.py", 2, "a name first", id="no-name"),
        pytest.param("exp1 lr=1 --stop", 2, "its name alone", id="stop-and-send"),
        pytest.param("exp1 --stop --delete", 2, "contradict", id="stop-and-delete"),
        pytest.param("exp1 --list nowhere --gpus 1 -- t", 2, "--list nowhere", id="no-list"),
        pytest.param("none.yaml lr=1", 2, "no such file", id="no-file"),
        pytest.param("job.yaml lr=1 --budget 3", 2, "leave the script", id="file-and-options"),
        pytest.param("job.yaml lr=1 x=2 -- t.py", 2, "leave the script", id="file-and-script"),
        pytest.param("wrong.yaml lr=1", 2, "minReplicas", id="bad-file"),
        pytest.param("exp1 lr=range(0,101) --gpus 1 --gpu-type t4 -- t", 2, "slip", id="too-many"),
        pytest.param(
            "exp1 lr=1 --gpus 1 --gpu-type t4 -- t.py {rl}", 2, "{rl} names nothing", id="brace"
        ),
        pytest.param("exp1 --sort loss", 4, "no job of a sweep 'exp1'", id="unknown-sweep"),
        pytest.param("exp1 --gpus 2 --env A=b", 2, "--gpus and --env mean nothing", id="idle"),
        pytest.param("exp1 --capacity spotThenOnDemand", 2, "-- train.py", id="idle-default"),
        pytest.param("exp1 --dry-run", 2, "--dry-run means nothing", id="dry-show"),
        pytest.param("exp1 --stop --sort loss", 2, "beside --stop", id="stop-and-sort"),
        pytest.param("exp1 --delete -o json", 2, "--output means nothing", id="delete-and-form"),
        pytest.param("exp1 --at-most 2 -f", 2, "--follow means nothing", id="limit-and-follow"),
        pytest.param("exp1 -f -o json", 2, "what is followed is a table", id="follow-and-form"),
        pytest.param(
            "exp1 lr=1 --gpus 1 --follow -o name -- t.py", 2, "leave out one", id="send-and-form"
        ),
        pytest.param("exp1 --at-most 2 --local", 2, "--at-most with --local", id="limit-here"),
        pytest.param("exp1 --at-most 2", 4, "There is none at all", id="limit-unknown"),
        pytest.param("exp1 --delete", 4, "There is none at all", id="delete-unknown"),
    ],
)
def test_what_cannot_be_swept_is_told_in_one_line_and_nothing_is_sent(
    words: str,
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job()))
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(job(minReplicas=0)))
    with stalling_server("", tmp_path) as (server, environment):
        sent = types("sweep", *words.split(), environment=environment, monkeypatch=monkeypatch)
        assert (sent, server.jobs) == (code, [])
    told = capsys.readouterr()
    assert told.out == ""
    assert says in told.err
    assert told.err.startswith("spotrain: ")
    assert told.err.count("\n") == 1


def test_ctrl_c_amid_a_sweep_says_how_many_went_and_the_same_command_sends_the_rest(
    tmp_path: Path,
) -> None:
    words = (*GRID, "--at-most", "2", *SCRIPT)
    with stalling_server(SENDING, tmp_path, after=2) as (server, environment):
        around = {**os.environ, **environment}
        with terminal(*words, folder=tmp_path, environment=around) as shown:
            assert server.arrived.wait(60)
            shown.press(CTRL_C)
            shown.read_until("is being sent")
            server.release.set()
            assert shown.read_to_end() == 130
        first = [each["metadata"]["name"] for each in server.jobs]
        said = " ".join(shown.text.split())
        assert "interrupted: 3 of 4 jobs of sweep exp1 were sent and go on." in said
        assert "the same command sends the rest" in said
        assert "spotrain sweep exp1 --delete removes" in said
        assert "Traceback" not in said
        with terminal(*words, folder=tmp_path, environment=around) as again:
            assert again.read_to_end() == 0
        assert "sent 1 job of 4, 3 were there already, at most 2 at once" in again.text
        names = [each["metadata"]["name"] for each in server.jobs]
        assert names[:3] == first
        assert len(set(names)) == len(names) == 4


@pytest.mark.parametrize("form", ["json", "yaml", "name"])
def test_what_is_for_a_program_stands_alone_on_stdout_also_where_jobs_are_sent(
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        words = (*GRID, "-o", form, *SCRIPT)
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 0
        names = [each["metadata"]["name"] for each in server.jobs]
    told = capsys.readouterr()
    found = told.out.split() if form == "name" else yaml.safe_load(told.out)
    assert found == (names if form == "name" else server.jobs)
    assert f"submitted {names[0]}: lr=0.1 batch=16" in told.err
    assert "sent 4 jobs of 4" in told.err


def test_more_values_keep_the_limit_of_the_sweep_unless_another_one_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (*GRID[:2], "lr=0.1,0.01,0.001", *GRID[3:])
    with stalling_server("", tmp_path) as (server, environment):
        for words, limit in (
            ((*GRID, "--at-most", "2"), 2),
            (more, 2),
            ((*more, "--at-most", "3"), 3),
        ):
            sent = types(*words, *SCRIPT, environment=environment, monkeypatch=monkeypatch)
            assert sent == 0, capsys.readouterr().err
            assert {each["spec"]["sweep"]["atMost"] for each in server.jobs} == {limit}
        assert len(server.jobs) == 6
    assert "sent 2 jobs of 6, 4 were there already, at most 2 at once" in capsys.readouterr().out


def test_every_option_that_is_told_of_is_one_of_the_command() -> None:
    there = {name for each in load_verb("sweep").params for name in each.opts}
    assert there >= ORDER | frozenset().union(*TAKEN.values())


def test_a_refusal_amid_a_sweep_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        server.most_jobs = 3
        assert types(*GRID, *SCRIPT, environment=environment, monkeypatch=monkeypatch) == 2
    told = capsys.readouterr().err
    assert "exceeded quota: few" in told
    assert "3 of 4 jobs of sweep exp1 were sent and go on." in told
    assert told.count("\n") == 1


def fill_server(server: StallingServer, *, suspend: bool = False) -> list[str]:
    """With the jobs of a sweep of four; returns their names."""
    tries = [{"n": str(number)} for number in range(4)]
    planned = members("exp1", tries, lambda name, _: job(name, suspend=suspend), at_most=None)
    server.jobs = [each.document for each in planned]
    return [each.name for each in planned]


@pytest.mark.parametrize(
    ("option", "request_", "past"),
    [("--stop", "PATCH", "stopped"), ("--delete", "DELETE", "deleted")],
)
def test_ctrl_c_amid_a_change_of_all_says_how_many_were_changed(
    option: str, request_: str, past: str, tmp_path: Path
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        names = fill_server(server)
        server.stalls_at = f"{request_} {names[2]}"
        around = {**os.environ, **environment}
        with terminal("sweep", "exp1", option, folder=tmp_path, environment=around) as shown:
            assert server.arrived.wait(60)
            shown.press(CTRL_C)
            shown.read_until(f"{names[2]} is being {past}")
            server.release.set()
            assert shown.read_to_end() == 130
        said = " ".join(shown.text.split())
    assert f"interrupted: 3 of 4 jobs of sweep exp1 were {past}." in said
    assert "the same command goes on with the rest" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("option", "request_", "told"),
    [
        ("--stop", "PATCH", "stopping 3 jobs of sweep exp1"),
        ("--resume", "PATCH", "resuming 3 jobs of sweep exp1"),
        ("--delete", "DELETE", "deleted 4 jobs of sweep exp1"),
    ],
)
def test_a_job_that_somebody_removed_meanwhile_keeps_no_other_from_a_change(
    option: str, request_: str, told: str, tmp_path: Path
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        names = fill_server(server, suspend=option == "--resume")
        server.stalls_at = f"{request_} {names[0]}"
        around = {**os.environ, **environment}
        with terminal("sweep", "exp1", option, folder=tmp_path, environment=around) as shown:
            assert server.arrived.wait(60)
            del server.jobs[1]
            server.release.set()
            assert shown.read_to_end() == 0
    assert told in shown.text


@pytest.mark.parametrize("option", ["--stop", "--resume", "--delete", "--at-most=1"])
def test_a_dry_run_of_a_change_names_the_jobs_and_touches_none(
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        names = fill_server(server, suspend=option == "--resume")
        before = copy.deepcopy(server.jobs)
        words = ("sweep", "exp1", option, "--dry-run")
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 0
        assert server.jobs == before
    told = capsys.readouterr()
    assert [line.split()[-1] for line in told.out.splitlines()] == names
    assert all(line.startswith("would ") for line in told.out.splitlines())
    assert "4 jobs of sweep exp1; nothing was done." in told.err


@pytest.mark.parametrize(
    ("option", "suspend", "past"), [("--stop", True, "stopped"), ("--resume", False, "resumed")]
)
def test_a_sweep_that_is_so_already_is_left_alone(
    option: str,
    suspend: bool,
    past: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        names = fill_server(server, suspend=suspend)
        server.refuses = f"PATCH {names[0]}"
        assert types("sweep", "exp1", option, environment=environment, monkeypatch=monkeypatch) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"no job of sweep exp1 is still to be {past}: nothing to do.")


def test_a_name_and_a_limit_change_the_limit_of_the_jobs_that_have_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        fill_server(server)
        server.jobs[0]["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
        words = ("sweep", "exp1", "--at-most", "3")
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 0
        limits = [each["spec"].get("sweep") for each in server.jobs]
    assert limits == [None, *[{"atMost": 3}] * 3]
    assert "limited to 3 at once: 3 jobs of sweep exp1. Next: " in capsys.readouterr().out


def test_a_refusal_amid_a_change_of_all_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stalling_server("", tmp_path) as (server, environment):
        names = fill_server(server)
        server.refuses = f"DELETE {names[2]}"
        words = ("sweep", "exp1", "--delete")
        assert types(*words, environment=environment, monkeypatch=monkeypatch) == 2
        assert [each["metadata"]["name"] for each in server.jobs] == names[2:]
    told = capsys.readouterr()
    assert told.out == ""
    assert "not today 2 of 4 jobs of sweep exp1 were deleted. Next: " in told.err
    assert told.err.count("\n") == 1


def result(name: str, **metrics: float) -> Result:
    progress = {"step": 3, "at": "2026-01-01T00:00:00Z", "metrics": metrics}
    return Result(view(job(name, status={"state": "Running", "progress": progress})), {"lr": name})


def test_results_are_sorted_by_a_metric_with_those_that_lack_it_last() -> None:
    results = [result("a", loss=2, top1=0.5), result("b", top1=0.7), result("c", loss=1)]
    assert [each.seen.name for each in ordered(results, "loss")] == ["c", "a", "b"]
    assert [each.seen.name for each in ordered(results, "-top1")] == ["b", "a", "c"]
    with pytest.raises(UserError, match="there are loss, top1"):
        ordered(results, "accuracy")
    assert arranged(results, "accuracy") == results
    with pytest.raises(UserError, match="none has told any yet"):
        ordered([result("a")], "loss")


def test_a_table_of_many_metrics_fits_a_terminal_and_begins_with_the_one_it_is_sorted_by() -> None:
    from rich.console import Console

    many = {f"metric{number}": 1.0 / (number + 1) for number in range(9)}
    results = [result(f"exp1-{number:08d}", **many) for number in range(3)]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(tabulate(results, sort="-metric7"))
    text = captured.get()
    assert max(map(len, text.splitlines())) <= 80
    assert "0.125" in text
    assert json.loads(json.dumps(results[0].summary(results[0].seen.created_at)))["metrics"] == many
    assert headline("exp1", results) == "exp1: 3 jobs, 3 Running"


def in_state(name: str, state: str, **status: Any) -> Result:
    return Result(view(job(name, status={"state": state, **status})), {"lr": "0.1"})


def test_where_nobody_looks_each_change_of_a_state_is_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes = [
        [in_state("a", "Pending"), in_state("b", "Pending")],
        [in_state("a", "Pending"), in_state("b", "Pending")],  # a step, or a dollar more
        [in_state("a", "Running"), in_state("b", "Pending")],
        [in_state("a", "Running")],
        [in_state("a", "Failed", conditions=[{"type": "Failed", "status": "True"}])],
    ]
    with pytest.raises(typer.Exit):
        sweep_watch.follow("exp1", changes, sort="", local=True)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:5] == [
        "exp1: 2 jobs, 2 Pending",
        "a (lr=0.1): Running",
        "exp1: 2 jobs, 1 Running, 1 Pending",
        "b (lr=0.1): deleted",
        "exp1: 1 job, 1 Running",
    ]
    assert shown.err.endswith("Next: spotrain explain a --local\n")


def test_on_a_terminal_a_line_goes_on_while_nothing_changes() -> None:
    found = [in_state("a", "Running")]
    drawn = sweep_watch.draw("exp1", found, "", quiet_seconds=200)
    shown = output.drawn(drawn, Console(width=80))
    assert shown.splitlines()[-1] == "exp1: 1 job, 1 Running; last change 3 min ago"
