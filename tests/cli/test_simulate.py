"""`spotrain simulate`, as a person and a script use it."""

import json
from pathlib import Path

import pytest

from spotrain.cli.main import main
from spotrain.cli.output import CUT_OFF

TRACES = Path(__file__).parents[2] / "bench/traces"
P3 = str(TRACES / "bamboo-p3.csv")


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *arguments])
    return ended.value.code


def test_a_person_sees_what_was_played_and_each_runtime(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--trace", P3) == 0
    said = capsys.readouterr()
    assert "11 h, 16 nodes at most" in said.err
    lines = [line.split() for line in said.out.splitlines() if line.strip()]
    assert [line[0] for line in lines[2:]] == ["spotrain", "torchrun", "restart"]
    assert max(map(len, said.out.splitlines())) <= 80


def test_a_script_gets_numbers_and_what_was_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--trace", P3, "--pause", "0", "--discount", "0.6", "-o", "json") == 0
    ours, torchrun, restart = json.loads(capsys.readouterr().out)
    assert ours["goodput"] > 0.99
    assert ours["saved"] == pytest.approx(0.6, abs=0.01)
    assert ours["assumed"]["pauseSeconds"] == 0
    assert ours["nodeHours"] == torchrun["nodeHours"] == restart["nodeHours"]
    assert ours["goodput"] > torchrun["goodput"] > restart["goodput"]


def test_a_job_of_so_many_hours_ends_sooner_the_better_it_recovers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--trace", P3, "--nodes", "8", "--hours", "20", "-o", "json") == 0
    hours = [each["hours"] for each in json.loads(capsys.readouterr().out)]
    assert 20 < hours[0] < hours[1] < hours[2]


def test_names_are_those_of_the_runtimes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--trace", P3, "-o", "name") == 0
    assert capsys.readouterr().out.split() == ["spotrain", "torchrun", "restart"]


def test_every_published_format_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sky = tmp_path / "us-east-2b_v100_1.json"
    sky.write_text('{"metadata": {"gap_seconds": 300}, "data": [0, 3, 16, 16, 2, 16]}')
    for path in (sky, TRACES / "parcae-p3.csv", TRACES / "bamboo-gcloud-a100.txt"):
        assert run("--trace", str(path), "-o", "name") == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        pytest.param(None, (), "No such file", id="no file"),
        pytest.param(b"\xff\xfe\x00", (), "is no text", id="no text"),
        pytest.param(b"MIT License\n", (), "it begins with 'MIT License'", id="no trace"),
        pytest.param(b"0,0\n1000,0\n2000,1\n", (), "no nodes at any time", id="no nodes"),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--discount", "7"),
            "--discount 7: give a number from 0 to 1.",
            id="discount",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--price", "-1"),
            "--price -1: give a number from 0 to 1000.",
            id="price",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--price", "nan"),
            "--price nan: give a number from 0 to",
            id="price-nan",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--price", "1e300"),
            "--price 1e300: give a number from 0 to",
            id="price-of-all",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--hours", "0"),
            "--hours 0: give a number from 0.1 to 1000000.",
            id="hours",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--interval", "0"),
            "--interval 0: give a number from 1 to",
            id="interval",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--interval", "inf"),
            "--interval inf: give a number from 1 to",
            id="interval-inf",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--pause", "-1"),
            "--pause -1: give a number from 0 to 86400.",
            id="pause",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--save", "-1"),
            "--save -1: give a number from 0 to 86400.",
            id="save",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--unnoticed", "2"),
            "--unnoticed 2: give a number from 0 to 1.",
            id="share",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--nodes", "0"),
            "--nodes 0: give a whole number from 1 to 100000.",
            id="nodes",
        ),
        pytest.param(
            b"0,1\n1000,2\n",
            ("--nodes", "1000000000"),
            "--nodes 1000000000: give a whole number from 1 to",
            id="nodes-of-all",
        ),
    ],
)
def test_bad_input_is_told_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    options: tuple[str, ...],
    words: str,
) -> None:
    path = tmp_path / "trace.csv"
    if content is not None:
        path.write_bytes(content)
    assert run("--trace", str(path), *options) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1


def test_no_figure_is_cut_off_however_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"0,4\n3600000,2\n7200000,4\n36000000,4\n")
    assert run("--trace", str(path), "--nodes", "100000", "--price", "1000") == 0
    shown = capsys.readouterr().out
    assert "$285,000,000.00" in shown
    assert CUT_OFF not in shown
    assert max(map(len, shown.splitlines())) <= 80
