"""The same script under stock torchrun and under spotrain-run sees, writes and returns the same."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LAUNCHERS = ("torchrun", "spotrain-run")

PROBE = """
import json, os, sys, time
from pathlib import Path
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
    seen = dict(os.environ, ARGV=" ".join(sys.argv[1:]), NAME=__name__)
    Path(f"seen-{attempt}-{rank}.partial").write_text(json.dumps(seen))
    os.rename(f"seen-{attempt}-{rank}.partial", f"seen-{attempt}-{rank}")
    print("out", rank)
    print("err", rank, file=sys.stderr)
    if attempt == "0" or sys.argv[-1] == "always":
        while not Path(f"seen-{attempt}-0").exists():
            time.sleep(0.01)
        if rank == "0":
            time.sleep(600)
        raise ValueError("a fault of the script")

main()
"""

SAME = [
    "ARGV",
    "NAME",
    "LOCAL_RANK",
    "RANK",
    "GROUP_RANK",
    "ROLE_RANK",
    "ROLE_NAME",
    "LOCAL_WORLD_SIZE",
    "WORLD_SIZE",
    "GROUP_WORLD_SIZE",
    "ROLE_WORLD_SIZE",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS",
    "TORCHELASTIC_USE_AGENT_STORE",
    "OMP_NUM_THREADS",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
]
PRESENT = ["MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE"]
"""Their values differ from run to run."""


@dataclass(frozen=True)
class Run:
    folder: Path
    code: int
    stdout: list[str]
    stderr: str

    def seen(self) -> dict[str, dict[str, str | None]]:
        """What each rank of each attempt found in its environment."""
        found = {}
        for path in sorted(self.folder.glob("seen-?-?")):
            environment = json.loads(path.read_text())
            assert [name for name in PRESENT if not environment.get(name)] == []
            found[path.name] = {name: environment.get(name) for name in SAME}
        return found

    def logs(self) -> dict[str, list[str]]:
        """Log files by their place below the folder of the run, with the probe's lines."""
        files = self.folder.glob("logs/*/attempt_*/*/*.log")
        return {
            "/".join(path.parts[-3:]): _of_probe(path.read_text().splitlines()) for path in files
        }


def run(tmp_path: Path, launcher: str, *arguments: str, **environment: str) -> Run:
    folder = tmp_path / launcher
    folder.mkdir()
    (folder / "probe.py").write_text(PROBE)
    unset = ("SPOTRAIN_", "PET_", "OMP_", "TORCHELASTIC_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    done = subprocess.run(
        [str(Path(sys.executable).with_name(launcher)), *arguments],
        env={**clean, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Run(folder, done.returncode, done.stdout.splitlines(), done.stderr)


def _of_probe(lines: Iterable[str]) -> list[str]:
    return sorted(line for line in lines if line.rpartition(":")[2][:3] in ("out", "err"))


def test_a_restarted_script_sees_and_logs_the_same(tmp_path: Path) -> None:
    options = "--standalone --max-restarts 1 --tee 3 --log-dir logs --local-ranks-filter 0"
    torchs, ours = (
        run(tmp_path, launcher, *options.split(), "probe.py", "once", PET_NPROC_PER_NODE="2")
        for launcher in LAUNCHERS
    )
    assert (torchs.code, ours.code) == (0, 0), ours.stderr
    assert ours.seen() == torchs.seen()
    assert len(ours.seen()) == 4
    assert ours.logs() == torchs.logs()
    assert _of_probe(ours.stdout) == _of_probe(torchs.stdout)
    assert _of_probe(ours.stdout) != []


def test_a_module_that_fails_for_good_ends_the_same_and_is_told_once(tmp_path: Path) -> None:
    options = "--standalone --nproc-per-node 2 --redirects 1:1 --log-dir logs -m probe always"
    torchs, ours = (
        run(tmp_path, launcher, *options.split(), TORCHELASTIC_ERROR_FILE="error.json")
        for launcher in LAUNCHERS
    )
    assert (torchs.code, ours.code) == (1, 1)
    assert ours.seen() == torchs.seen()
    assert ours.logs() == torchs.logs()
    theirs, own = (
        json.loads((done.folder / "error.json").read_text())["message"] for done in (torchs, ours)
    )
    assert own["message"] == theirs["message"] == "ValueError: a fault of the script"
    assert "probe.py" in own["extraInfo"]["py_callstack"]
    assert ours.stderr.count("raise ValueError") == 1


def test_a_command_without_python_returns_the_same(tmp_path: Path) -> None:
    options = ["--standalone", "--no-python", "sh", "-c", "echo out $RANK; exit 3"]
    torchs, ours = (run(tmp_path, launcher, *options) for launcher in LAUNCHERS)
    assert (torchs.code, _of_probe(torchs.stdout)) == (ours.code, _of_probe(ours.stdout))
    assert "ended with code 3" in ours.stderr
