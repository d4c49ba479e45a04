"""A rank that is forked is, to its script, a fresh process; and no fork is ever trusted blindly."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotrain.agent.fork_server import why_not_fork
from spotrain.agent.forked import Forked, reap_orphans
from spotrain.agent.tether import PR_SET_CHILD_SUBREAPER, adopt_orphans
from spotrain.agent.warm_start import MAX_STARTS, ForkFailed, ForkServer, Script

HANG_SECONDS = 120.0

PROBE = """
import atexit, json, os, signal, sys, threading
import multiprocessing
def here():
    main = sys.modules["__main__"]
    return {
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "path": sys.path,
        "name": __name__,
        "file": __file__,
        "main": sorted(name for name in vars(main)),
        "own": main.here is here,
        "spec": getattr(__spec__, "name", None),
        "package": __package__,
        "cwd": os.getcwd(),
        "rank": os.environ.get("RANK"),
        "environment": sorted(os.environ),
        "leader": os.getsid(0) == os.getpid() == os.getpgid(0),
        "parent": os.getppid(),
        "sigterm": signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
        "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "process": multiprocessing.current_process().name,
        "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:3],
        "flags": list(sys.flags),
        "threads": threading.active_count(),
    }
print(json.dumps(here()))
atexit.register(print, "at exit")
print("to stderr", file=sys.stderr)
if sys.argv[-1] == "fail":
    raise ValueError("a fault")
sys.exit({"code": 7, "text": "last words"}.get(sys.argv[-1]))
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "probe.py").write_text(PROBE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def servers() -> Iterator[list[ForkServer]]:
    made: list[ForkServer] = []
    yield made
    for server in made:
        server.close()


@pytest.fixture(autouse=True)
def _adopts_for_a_test_only() -> Iterator[None]:
    """Else what other tests leave behind would stay as zombies of this process."""
    yield
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def serve(servers: list[ForkServer], script: Script, *preload: str) -> ForkServer:
    server = ForkServer(script, preload)
    servers.append(server)
    server.start()
    return server


def until_ready(server: ForkServer) -> None:
    give_up = time.monotonic() + HANG_SECONDS
    while not server.is_ready():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def outcome(work: Path, process: Any, name: str) -> tuple[int, str, str]:
    code = process.wait(HANG_SECONDS)
    return code, (work / f"{name}.out").read_text(), (work / f"{name}.err").read_text()


def run_warm(work: Path, server: ForkServer, *argv: str) -> tuple[int, str, str]:
    environment = {**os.environ, "RANK": "3"}
    with (work / "warm.out").open("w") as out, (work / "warm.err").open("w") as err:
        rank = server.fork(argv, environment, stdout=out.fileno(), stderr=err.fileno())
    return outcome(work, rank, "warm")


def run_fresh(work: Path, *argv: str) -> tuple[int, str, str]:
    environment = {**os.environ, "RANK": "3"}
    with (work / "cold.out").open("w") as out, (work / "cold.err").open("w") as err:
        rank = subprocess.Popen(
            [sys.executable, "-u", *argv],
            env=environment,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    return outcome(work, rank, "cold")


def test_a_forked_script_sees_what_a_fresh_one_sees(work: Path, servers: list[ForkServer]) -> None:
    server = serve(servers, Script("probe.py", False, 1))
    until_ready(server)
    for last in ("none", "code", "text", "fail"):
        warm, fresh = run_warm(work, server, "probe.py", last), run_fresh(work, "probe.py", last)
        assert json.loads(warm[1].splitlines()[0]) == json.loads(fresh[1].splitlines()[0])
        assert (warm[0], warm[1].splitlines()[1:], warm[2]) == (
            fresh[0],
            fresh[1].splitlines()[1:],
            fresh[2],
        )


def test_a_forked_module_sees_what_a_fresh_one_sees(work: Path, servers: list[ForkServer]) -> None:
    server = serve(servers, Script("probe", True, 1))
    until_ready(server)
    warm, fresh = run_warm(work, server, "probe", "code"), run_fresh(work, "-m", "probe", "code")
    assert json.loads(warm[1].splitlines()[0]) == json.loads(fresh[1].splitlines()[0])
    assert (warm[0], warm[2]) == (fresh[0], fresh[2])


def test_a_server_that_dies_is_replaced_and_its_ranks_live_on(
    work: Path, servers: list[ForkServer]
) -> None:
    (work / "sleep.py").write_text("import time; time.sleep(600)")
    server = serve(servers, Script("sleep.py", False, 0))
    until_ready(server)
    rank = server.fork(["sleep.py"], os.environ, stdout=1, stderr=2)
    first = server.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    while server.pid == first:
        server.is_ready()
        time.sleep(0.01)
    until_ready(server)
    assert rank.poll() is None
    os.killpg(rank.pid, signal.SIGTERM)
    assert rank.wait(HANG_SECONDS) == -signal.SIGTERM


def test_a_server_that_cannot_import_is_given_up_and_says_why_not(
    work: Path, servers: list[ForkServer], capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(servers, Script("probe.py", False, 0), "no_such_module")
    while server.is_importing():
        time.sleep(0.01)
    with pytest.raises(ForkFailed, match="not ready"):
        server.fork(["probe.py"], os.environ, stdout=1, stderr=2)
    assert capfd.readouterr().err.count("No module named 'no_such_module'") == MAX_STARTS


def test_a_server_whose_imports_start_threads_is_not_forked(
    work: Path, servers: list[ForkServer], caplog: pytest.LogCaptureFixture
) -> None:
    (work / "threaded.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    server = serve(servers, Script("probe.py", False, 0), "threaded")
    assert server.pid is not None
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # it has ended before it is heard
    assert not server.is_ready()
    assert "the imports have started 1 threads" in caplog.text


def test_a_server_that_has_opened_a_gpu_is_not_forked() -> None:
    assert "/dev/nvidiactl" in why_not_fork(["/dev/null", "/dev/nvidiactl"], threads=1)
    assert why_not_fork(["/dev/null", "socket:[1]"], threads=1) == ""


def test_what_ranks_leave_behind_is_waited_for_and_nothing_else() -> None:
    assert adopt_orphans()
    own = subprocess.Popen(["sleep", "0"], start_new_session=True)
    code = (
        "import os, sys\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); print(os.getpid(), flush=True); sys.stdin.read(); os._exit(0)\n"
    )
    left = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    orphan = int(left.stdout)
    give_up = time.monotonic() + HANG_SECONDS
    while Path(f"/proc/{orphan}").exists():
        assert time.monotonic() < give_up
        reap_orphans({own.pid})
        time.sleep(0.01)
    assert own.wait(HANG_SECONDS) == 0


def test_how_a_forked_process_ended_is_told_as_popen_tells_it() -> None:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", "input()"], os.environ)
    process = Forked(pid)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
