"""`spotrain-run` as a person uses it: help, one box, bad settings, what it must not import."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from spotrain import contract

SCRIPTS = Path(__file__).parent / "scripts"
ROOT = Path(__file__).resolve().parents[2]


def spotrain_run(
    *arguments: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SPOTRAIN_", "PET_"))}
    return subprocess.run(
        [str(Path(sys.executable).with_name("spotrain-run")), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**clean, "OMP_NUM_THREADS": "1", **(environment or {})},
        cwd=cwd,
        check=False,
    )


def test_help_prints_the_usage_with_torchruns_options() -> None:
    done = spotrain_run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: spotrain-run")
    assert "--nproc-per-node" in done.stdout


def test_without_a_script_it_says_what_is_missing() -> None:
    done = spotrain_run()
    assert done.returncode == contract.EXIT_USAGE
    assert "training_script" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param(contract.ENV_GRACE_SECONDS, "inf", "above 0", id="endless-grace"),
        pytest.param(contract.ENV_COORDINATOR, "ws://", "no websocket address", id="no-host"),
        pytest.param(contract.ENV_GRACE_SECONDS, "soon", "'soon' is not a number", id="grace"),
        pytest.param(contract.ENV_GRACE_SECONDS, "-1", "above 0", id="negative-grace"),
        pytest.param(contract.ENV_PROGRESS_DEADLINE, "-1", "from 0", id="negative-deadline"),
        pytest.param(contract.ENV_COORDINATOR, "http://x", "no websocket address", id="address"),
    ],
)
def test_bad_settings_are_one_line_and_exit_code_2(name: str, value: str, said: str) -> None:
    done = spotrain_run("--standalone", __file__, environment={name: value})
    assert done.returncode == contract.EXIT_USAGE
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("spotrain-run:")]
    assert said in line
    assert name in line


def test_a_missing_script_is_found_before_any_world_is(tmp_path: Path) -> None:
    done = spotrain_run("--standalone", "nope.py", cwd=tmp_path)
    assert done.returncode == contract.EXIT_USAGE
    assert "nope.py: no such script" in done.stderr


ONE_BOX = (str(Path(sys.executable).with_name("spotrain-run")), "--standalone")


@pytest.mark.parametrize(
    ("launcher", "sign", "code"),
    [
        pytest.param(ONE_BOX, signal.SIGINT, 130, id="ctrl-c-of-one-box"),
        pytest.param((sys.executable,), signal.SIGINT, 130, id="ctrl-c-without-an-agent"),
        pytest.param((sys.executable,), signal.SIGTERM, 143, id="a-notice-without-an-agent"),
    ],
)
def test_who_is_asked_to_stop_saves_before_it_leaves(
    tmp_path: Path, launcher: tuple[str, ...], sign: signal.Signals, code: int
) -> None:
    command = [*launcher, str(SCRIPTS / "session.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell without job control has what it runs in the background ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        assert run.stdout is not None
        for _ in range(5):
            assert "world 1 rank 0 of 1" in run.stdout.readline()
        before = set((tmp_path / "checkpoints").glob("*.json"))
        run.send_signal(sign)
        steps = 5 + sum("world 1" in line for line in run.stdout)
    assert run.returncode == code
    newest = max((tmp_path / "checkpoints").glob("*.json"))
    assert newest not in before
    # The last line is printed after the step in which the world was left, if it was.
    assert int(newest.stem.rpartition("-s")[2]) - steps in (0, 1)


def test_one_box_trains_to_the_end_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    script = str(SCRIPTS / "session.py")
    first = spotrain_run("--standalone", script, str(tmp_path), "--epochs", "1", "--pause", "0")
    assert first.returncode == 0, first.stderr
    again = spotrain_run("--standalone", script, str(tmp_path), "--epochs", "2", "--pause", "0")
    assert again.returncode == 0, again.stderr
    assert "world 2 rank 0 of 1" in again.stdout


def test_one_box_that_hangs_is_restarted_past_its_deadline(tmp_path: Path) -> None:
    """A machine that is slower than the deadline costs more restarts, and nothing else."""
    done = spotrain_run(
        *("--standalone", "--max-restarts", "20", str(SCRIPTS / "session.py"), str(tmp_path)),
        *("--epochs", "1", "--hang-at", "60"),
        environment={contract.ENV_PROGRESS_DEADLINE: "15"},
    )
    assert done.returncode == 0, done.stderr
    assert "hangs or waits: session.py:" in done.stderr
    assert "world 2 rank 0 of 1" in done.stdout


def test_a_damaged_checkpoint_is_passed_over_loudly(tmp_path: Path) -> None:
    script = str(SCRIPTS / "session.py")
    spotrain_run("--standalone", script, str(tmp_path), "--epochs", "1", "--pause", "0")
    newest = max((tmp_path / "checkpoints").glob("w*/data-00000.bin"))
    newest.write_bytes(newest.read_bytes()[:100])
    done = spotrain_run("--standalone", script, str(tmp_path), "--epochs", "1", "--pause", "0")
    assert done.returncode == 0, done.stderr
    assert str(newest) in done.stderr
    assert "w000001-s00000000 instead" in done.stderr


def test_without_an_agent_the_same_script_trains_alone(tmp_path: Path) -> None:
    script = str(SCRIPTS / "session.py")
    done = subprocess.run(
        [sys.executable, script, str(tmp_path), "--epochs", "1", "--pause", "0"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "checkpoints").glob("*.json"))
    assert (names[0], names[-1]) == ("w000001-s00000000.json", "w000001-s00000100.json")


def test_a_plain_script_brings_its_own_rendezvous_to_torch(tmp_path: Path) -> None:
    done = spotrain_run(
        *("--nnodes", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"),
        *(str(SCRIPTS / "plain.py"), str(tmp_path / "state.pt"), "10"),
    )
    assert done.returncode == 0, done.stderr
    assert "step 10 world 1" in done.stdout


def test_the_training_image_needs_torch_and_websockets_only() -> None:
    """The package alone must not pull in what only controller, stack or CLI have."""
    barred = ["pydantic", "yaml", "lightkube", "rich", "typer", "boto3", "pulumi"]
    code = (
        "import sys\n"
        f"for name in {barred}: sys.modules[name] = None\n"
        "import spotrain.train, spotrain.agent.main\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
