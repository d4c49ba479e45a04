"""What a clumsy or a hostile person types: one line that says what to do, and nothing is left."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER
from spotrain.cli.main import main
from spotrain.cli.pipes import UNREAD
from tests.cli.terminal import terminal

DEEP = "[" * 5000
CONFIG = """\
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {cluster}}}]
users: [{{name: u, user: {user}}}]
"""
NOWHERE = "{server: 'https://127.0.0.1:1'}"
"""Nobody listens there."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which nobody has a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    return tmp_path


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> "Answer":
    return Answer(capsys)


class Answer:
    """Types words, and holds what comes of them against the rules of every answer."""

    def __init__(self, output: pytest.CaptureFixture[str]) -> None:
        self._output = output

    def is_refused(self, *words: str, code: int, says: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        said = self._output.readouterr()
        assert ended.value.code == code, said.err
        assert said.out == ""
        assert said.err.startswith("spotrain: ")
        assert said.err.count("\n") == 1
        assert says in said.err


# --- Names ---

NAMED = [
    "status",
    "describe",
    "logs",
    "checkpoints",
    "stop",
    "resume",
    "delete",
    "cost",
    "report",
    "drill",
]


@pytest.mark.parametrize("verb", NAMED)
@pytest.mark.parametrize("name", ["", "  "])
def test_an_unset_variable_in_place_of_a_name_means_no_job(
    answer: Answer, verb: str, name: str
) -> None:
    """To the API server a path without a name means all of them."""
    answer.is_refused(verb, name, "--local", code=2, says="give the name of a job")


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "ä", "two\nlines", "x" * 300, "$(id)"])
def test_a_name_that_no_job_can_have_is_one_that_is_not_there(answer: Answer, name: str) -> None:
    for verb in ("status", "cost", "delete"):
        answer.is_refused(verb, "--local", name, code=4, says="there is no job")


# --- Files and folders ---


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param("", "holds no mapping", id="empty"),
        pytest.param(b"\x80\xff\x00", "cannot be read as YAML", id="bytes"),
        pytest.param(DEEP, "cannot be read as YAML", id="deeper-than-anybody-writes"),
        pytest.param("- a", "holds no mapping", id="list"),
        pytest.param("kind: Pod", "not an ElasticJob", id="another-kind"),
        pytest.param("kind: ElasticJob", "apiVersion: is missing", id="no-job"),
    ],
)
def test_a_file_that_is_no_job_is_named(
    answer: Answer, here: Path, contents: str | bytes | None, says: str
) -> None:
    if contents is not None:
        data = contents if isinstance(contents, bytes) else contents.encode()
        (here / "job.yaml").write_bytes(data)
    answer.is_refused("run", "job.yaml", "--local", code=2, says=says)
    assert not (here / "shelf" / "jobs").exists()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("run {} --local", id="run"),
        pytest.param("run job.yaml --local --pools {}", id="pools"),
        pytest.param("simulate --trace {}", id="trace"),
        pytest.param("report digits --local -o {}", id="report"),
    ],
)
@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("folder", "Is a directory", id="folder"),
        pytest.param("x" * 300, "File name too long", id="long"),
    ],
)
def test_what_is_no_file_is_named(
    answer: Answer, here: Path, words: str, path: str, says: str
) -> None:
    (here / "folder").mkdir()
    (here / "job.yaml").write_text("kind: ElasticJob")
    answer.is_refused(*(word.format(path) for word in words.split()), code=2, says=says)


@pytest.mark.parametrize("pools", ["data: [1]", "data: {pools.yaml: 1}", "{}"])
def test_a_file_without_pools_is_named(answer: Answer, here: Path, pools: str) -> None:
    (here / "job.yaml").write_text("kind: ElasticJob")
    (here / "pools.yaml").write_text(pools)
    words = ("run", "job.yaml", "--local", "--pools", "pools.yaml")
    answer.is_refused(*words, code=2, says="give a pools ConfigMap")


@pytest.mark.parametrize("ignored", [b"\xff\xfe", b"!\n"])
def test_patterns_that_nobody_can_read_are_not_taken_for_none(
    answer: Answer, here: Path, ignored: bytes
) -> None:
    (here / ".spotrainignore").write_bytes(ignored)
    (here / "train.py").touch()
    words = ("submit", "a", "--gpus", "1", "--local", "--code", ".", "train.py")
    answer.is_refused(*words, code=2, says=".spotrainignore cannot be read")


@pytest.mark.parametrize(
    "words",
    [
        "submit a --gpus 1 train.py",
        "list",
        "status a",
        "logs a",
        "cost",
        "gpus",
        "delete a",
        "board a",
        "explain a",
        "drill a",
        "report a",
        "sweep a",
    ],
)
def test_a_file_in_the_place_of_the_folder_of_jobs_is_named(
    answer: Answer, here: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    (here / "file").touch()
    monkeypatch.setenv(ENV_FOLDER, str(here / "file"))
    answer.is_refused(*words.split(), "--local", code=2, says=f"name one by {ENV_FOLDER}")


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        pytest.param("file", "file: is a file; name a folder", id="file"),
        pytest.param("file/x", "cannot be written there: Not a directory. Name", id="in-a-file"),
        pytest.param("/proc/x", "cannot be written there: No such file or directory.", id="proc"),
        pytest.param("long/" + "x" * 300, "shorten it", id="long"),
        pytest.param("x" * 300 + "/a", "there: File name too long. Name a folder", id="long-above"),
    ],
)
def test_a_project_that_cannot_be_written_is_told_by_its_folder(
    answer: Answer, here: Path, folder: str, says: str
) -> None:
    (here / "file").touch()
    answer.is_refused("init", folder, code=2, says=says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param("sweep {}.yaml lr=1 --local", "", id="sweep"),
        pytest.param("sweep a --list {}.yaml --gpus 1 --local -- a.py", "--list ", id="list"),
        pytest.param("submit a --gpus 1 --local --code {}.yaml a.py", "--code ", id="code"),
    ],
)
@pytest.mark.parametrize("name", ["missing", "folder", "bytes", "open", "x" * 300])
def test_a_file_of_a_sweep_is_named_in_plain_words(
    answer: Answer, here: Path, words: str, says: str, name: str
) -> None:
    (here / "folder.yaml").mkdir()
    (here / "bytes.yaml").write_bytes(b"\xff\xfe")
    (here / "open.yaml").write_text("a: '[")
    answer.is_refused(*words.format(name).split(), code=2, says=f"spotrain: {says}{name}.yaml: ")


def test_no_message_has_words_of_the_operating_system_alone(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "file").touch()
    for words in (["init", "file/x"], ["sweep", "a", "--list", "file/x", "--gpus", "1", "b.py"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "[Errno" not in capsys.readouterr().err


# --- Submissions ---


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--gpu-type", ""], "no GPU type ''", id="no-gpu-type"),
        pytest.param(["--gpu-type", "A 1"], "lower-case", id="gpu-type"),
        pytest.param(["--image", ""], "the reference of an image", id="no-image"),
        pytest.param(["--image", "a b"], "the reference of an image", id="image"),
        pytest.param(["--env", "X"], "NAME=VALUE", id="env"),
        pytest.param(["--env", "ä b=1"], "names of variables have", id="env-name"),
        pytest.param(["--env", "1=a"], "begin with no digit", id="env-digit"),
        pytest.param(["--budget", "nan"], "above 0", id="budget-nan"),
        pytest.param(["--budget", "inf"], "above 0", id="budget-inf"),
        pytest.param(["--budget", "-1"], "above 0", id="budget-negative"),
        pytest.param(["--pool", ""], "no pool ''", id="no-pool"),
        pytest.param(
            ["--code", "train.py"], "is a file, and a folder is sent", id="code-is-a-file"
        ),
        pytest.param(["--gpus", "9" * 20], "1000", id="gpus-of-the-world"),
    ],
)
def test_a_submission_that_nobody_can_mean_leaves_nothing(
    answer: Answer, here: Path, options: list[str], says: str
) -> None:
    (here / "train.py").touch()
    words = ("submit", "a", "--gpus", "1", "--local", *options, "train.py")
    answer.is_refused(*words, code=2, says=says)
    assert not (here / "shelf" / "jobs").exists()


@pytest.mark.parametrize("given", ["1KEY=hunter2", "MY KEY=hunter2", "=hunter2", "hunter2"])
def test_a_variables_value_is_never_told(
    here: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "train.py").touch()
    with pytest.raises(SystemExit) as ended:
        main(["submit", "a", "--gpus", "1", "--local", "--env", given, "train.py"])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert "--env" in said.err
    assert "hunter2" not in said.err


def test_a_submission_without_a_script_is_refused(answer: Answer) -> None:
    answer.is_refused("submit", "a", "--gpus", "1", "--local", "", code=2, says="SCRIPT is empty")


@pytest.mark.parametrize("folder", ["/", "Ä", "..."])
def test_a_project_is_not_named_after_what_no_job_can_be_named_after(
    answer: Answer, folder: str
) -> None:
    answer.is_refused("init", folder, code=2, says="name a folder by letters and digits")


def test_the_next_command_can_be_typed_as_it_stands(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["init", "a b"])
    assert "Next: cd 'a b' && " in capsys.readouterr().out


# --- Clusters ---


@pytest.mark.parametrize(
    ("config", "says"),
    [
        pytest.param(None, "not found", id="missing"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("- a", "not the form of one", id="list"),
        pytest.param("a: [", "cannot be read as YAML", id="no-yaml"),
        pytest.param("a: b", "it has no 'clusters'", id="another-file"),
        pytest.param(DEEP, "not the form of one", id="deep"),
        pytest.param("clusters: x\ncontexts: 3", "not the form of one", id="types"),
        pytest.param(CONFIG.format(cluster="3", user="{}"), "form", id="cluster-is-a-number"),
        pytest.param(
            CONFIG.format(cluster="{server: not a url}", user="{}"), "cannot be reached", id="url"
        ),
        pytest.param(CONFIG.format(cluster=NOWHERE, user="{}"), "cannot be reached", id="nobody"),
    ],
)
def test_without_a_usable_kubeconfig_the_ways_out_are_named(
    answer: Answer, here: Path, config: str | None, says: str
) -> None:
    if config is not None:
        (here / "nowhere").write_text(config)
    answer.is_refused("list", code=3, says=says)
    answer.is_refused("list", code=3, says="--local")


def test_a_folder_in_the_place_of_a_kubeconfig_is_told(answer: Answer, here: Path) -> None:
    (here / "nowhere").mkdir()
    answer.is_refused("list", code=3, says="nowhere is a folder, and a file is needed")


def program(command: str, *arguments: str, version: str = "v1") -> str:
    """A user whose credentials a program fetches."""
    exec_ = f"{{apiVersion: client.authentication.k8s.io/{version}, command: {command}"
    return CONFIG.format(cluster=NOWHERE, user=f"{{exec: {exec_}, args: {list(arguments)}}}}}")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(("no-such-program",), "no-such-program, that is not there", id="missing"),
        pytest.param(("sh", "-c", "echo logged out >&2; false"), "logged out", id="refuses"),
        pytest.param(("echo", "hello"), "makes no token", id="chatters"),
        pytest.param(("echo", "{}"), "makes no token", id="no-status"),
    ],
)
def test_credentials_that_cannot_be_fetched_are_told(
    answer: Answer, here: Path, words: tuple[str, ...], says: str, version: str
) -> None:
    (here / "nowhere").write_text(program(*words, version=version))
    answer.is_refused("list", code=3, says=says)


# --- Outputs ---


def spotrain(*words: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "spotrain.cli", *words]
    return subprocess.run(command, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def environment(**changes: str) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": ":".join(path for path in sys.path if path), **changes}


@pytest.mark.parametrize("words", [("init", "project"), ("simulate", "--help")])
def test_a_reader_who_is_gone_ends_a_command_as_shells_expect(words: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        ended = spotrain(*words, stdout=writes, stderr=subprocess.PIPE, env=environment())
    finally:
        os.close(writes)
    assert (ended.returncode, ended.stderr) == (UNREAD, "")


@pytest.mark.parametrize("closed", [1, 2])
def test_an_output_that_is_closed_is_no_fault(closed: int) -> None:
    ended = spotrain(
        "list",
        "--local",
        capture_output=True,
        env=environment(),
        preexec_fn=lambda: os.close(closed),
    )
    assert ended.returncode == 0
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("init", "project"), id="at-its-end"),
        pytest.param(("--help",), id="help"),
        pytest.param(("list", "--local", "-o", "json"), id="json"),
    ],
)
def test_a_disk_that_is_full_is_told_and_no_fault_of_the_program(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        ended = spotrain(*words, stdout=full, stderr=subprocess.PIPE, env=environment())
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "cannot write the output: No space left on device" in ended.stderr


def test_what_nobody_can_be_told_keeps_no_answer_back() -> None:
    with open("/dev/full", "w") as full:
        ended = spotrain("list", "--local", stdout=subprocess.PIPE, stderr=full, env=environment())
    assert ended.returncode == 0


def test_a_letter_that_the_output_lacks_is_spelled_out(here: Path) -> None:
    plain = environment(PYTHONIOENCODING="ascii")
    ended = spotrain("init", "ä/b", capture_output=True, env=plain)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert r"\xe4/b" in ended.stdout


PLAYED = ("simulate", "--trace", "trace.csv", "--nodes", "4")
"""A command with a wide table, which asks nobody."""


@pytest.fixture
def _trace(here: Path) -> None:
    (here / "trace.csv").write_text("0,4\n3600000,2\n7200000,4\n36000000,4\n")


@pytest.mark.usefixtures("_trace")
@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_terminal_cuts_no_number_off(here: Path, columns: int) -> None:
    with terminal(*PLAYED, folder=here, environment=environment(), columns=columns) as shown:
        assert shown.read_to_end() == 0
    wide = spotrain(*PLAYED, capture_output=True, env=environment()).stdout
    assert wide
    assert " ".join(wide.split()) in " ".join(shown.text.split())


@pytest.mark.usefixtures("_trace")
def test_without_a_terminal_nothing_is_coloured() -> None:
    ended = spotrain(*PLAYED, capture_output=True, env=environment())
    assert (ended.returncode, "\x1b" in ended.stdout + ended.stderr) == (0, False)
