"""What a hanging rank is seen to do, from outside: its mark, its stacks, its data loader's."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.agent import stacks
from spotrain.agent.hang import MAX_SENT_OF_RANK, report
from spotrain.agent.inspection import Finding, inspect
from spotrain.agent.marks import Mark
from spotrain.coordinator import protocol

DUMP = """\
Thread 0x00007f04906db6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f0491216b80 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py", line 869 in backward
  File "/app/train.py", line 57 in train
  File "/opt/venv/lib/python3.11/site-packages/spotrain/train/launch.py", line 95 in _run_worlds
  File "/app/train.py", line 70 in <module>"""

WORKER = """\
Current thread 0x00007f0491216b80 (most recent call first):
  File "/app/data.py", line 12 in __getitem__
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", line 54 in fetch
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 9 in \
_worker_loop
  File "/app/train.py", line 57 in train"""

IDLE = """\
Current thread 0x00007f0491216b80 (most recent call first):
  File "/usr/lib/python3.11/multiprocessing/queues.py", line 113 in get
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 9 in \
_worker_loop
  File "/app/train.py", line 57 in train"""

RANK = """
import os, sys, time
from pathlib import Path
from spotrain.agent.marks import Marks

def wait(mode):
    if mode == "rank":
        print(os.getpid(), flush=True)
    time.sleep(3600)

def _worker_loop():
    load_batch()

def load_batch():
    print(os.getpid(), flush=True)
    time.sleep(3600)

folder, mode = Path(sys.argv[1]), sys.argv[2]
marks = Marks(folder, 0)
marks.set(3, 120, 1)
if mode == "worker" and os.fork() == 0:
    _worker_loop()
wait(mode)
"""

LOADING_RANK = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
from torch.utils.data import Dataset
from spotrain.agent.marks import Marks
from spotrain.train.batching import Batching
from spotrain.train.loader import ElasticLoader
from spotrain.train.position import Position

class Hanging(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        print(os.getpid(), flush=True)
        time.sleep(3600)

if __name__ == "__main__":
    marks = Marks(Path(sys.argv[1]), 0)
    options = {"num_workers": 1, "multiprocessing_context": sys.argv[2]}
    position = Position(seed=1)
    position.place = SimpleNamespace(number=1, rank=0, world_size=1)
    loader = ElasticLoader(
        Hanging(), position, Batching(1), shuffle=False, drop_last=False, options=options
    )
    next(iter(loader))
"""


@contextmanager
def rank(folder: Path, mode: str, text: str = RANK) -> Iterator[int]:
    """A rank that hangs, or whose data loader's worker does; yields the pid of who hangs."""
    script = folder / "rank.py"
    script.write_text(text)
    command = [sys.executable, str(script), str(folder), mode]
    own = {contract.ENV_CONTROL: str(folder), "LOCAL_RANK": "0"}
    environment = os.environ | own
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        try:
            yield pid
        finally:
            for one in {pid, process.pid}:
                os.kill(one, signal.SIGKILL)


def found_at(folder: Path, place: str) -> Finding:
    """It is looked at again while it is on its way there: it tells its pid a line before."""
    for _ in range(100):
        found = inspect(folder, 0)
        if re.fullmatch(place, found.place):
            return found
    raise AssertionError(f"{found.place} instead of {place}")


def test_a_hanging_rank_is_found_at_its_step_and_line(tmp_path: Path) -> None:
    with rank(tmp_path, "rank") as pid:
        found = found_at(tmp_path, "rank.py:9 wait")
        assert inspect(tmp_path, 0).place == found.place  # it lives, and answers again
    assert found.mark == Mark(pid=pid, world=3, step=120, batches=1)
    assert "in <module>" in found.dump


def test_a_worker_of_its_data_loader_is_found_too(tmp_path: Path) -> None:
    with rank(tmp_path, "worker"):
        found_at(tmp_path, "rank.py:9 wait, its data loader in rank.py:16 load_batch")


def test_a_worker_that_is_no_fork_of_its_rank_is_found_too(tmp_path: Path) -> None:
    """By forkserver it is not even its child; one by spawn comes to its handler the same way."""
    with rank(tmp_path, "forkserver", LOADING_RANK) as worker:
        found = found_at(
            tmp_path, "rank.py:27 <module>, in .+, its data loader in rank.py:17 __getitem__.*"
        )
    assert found.mark is not None
    assert found.mark.pid != worker
    assert f"Worker of the data loader, process {worker}:" in found.dump


def test_a_stopped_rank_is_known_by_its_mark(tmp_path: Path) -> None:
    with rank(tmp_path, "rank") as pid:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        found = inspect(tmp_path, 0)
    assert (found.place, found.dump) == ("stopped by a signal", "")
    assert found.mark is not None
    assert found.mark.step == 120


def test_a_process_that_does_not_take_the_signal_is_not_sent_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        number = process.pid.to_bytes(8, sys.byteorder)
        (tmp_path / "marks-0").write_bytes(number + bytes(24))
        (tmp_path / "stacks-0").touch()
        assert inspect(tmp_path, 0).place == "not answering"
        process.communicate(b"\n")
        assert process.returncode == 0


def test_a_rank_that_has_told_nothing_is_said_to(tmp_path: Path) -> None:
    found = inspect(tmp_path, 0)
    assert (found.mark, found.place) == (
        None,
        "still starting, or without the training library",
    )


def test_the_users_own_line_stands_before_what_it_waits_in() -> None:
    assert stacks.place(DUMP) == "train.py:57 train, in graph.py:869 backward"
    assert stacks.place("") == ""
    assert stacks.busy([IDLE, WORKER]) == "data.py:12 __getitem__"
    assert stacks.busy([IDLE, DUMP.replace("train.py", "x").partition("\n\n")[0]]) == ""


def test_an_outline_begins_with_the_main_thread_and_ends_with_a_whole_line() -> None:
    short = stacks.outline(DUMP, 300)
    assert short.startswith("Current thread")
    assert len(short) <= 300
    assert short.endswith("\n...")
    assert stacks.outline(DUMP, 3000).endswith("line 982 in run")


@given(
    dumps=st.lists(st.text(st.characters(max_codepoint=127), max_size=9000), max_size=64),
    most=st.integers(4, MAX_SENT_OF_RANK),
)
def test_what_is_told_of_all_ranks_fits_into_a_message(dumps: list[str], most: int) -> None:
    findings = [Finding(rank, None, "place" * 200, dump) for rank, dump in enumerate(dumps)]
    text = protocol.encode(report(findings, world=1))
    assert len(text) <= protocol.MAX_MESSAGE_BYTES
    for dump in dumps:
        assert len(stacks.outline(dump, most)) <= most
