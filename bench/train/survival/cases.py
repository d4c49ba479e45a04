"""What happens to a job of three workers, and to what they meet at. Each act returns when.

Workers that are gone are replaced at once under their own names, as a controller replaces pods.
"""

import resource
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.train.peers import processes
from bench.train.peers.launchers import Meeting
from bench.train.peers.team import Team

WORKERS: Final = ("a", "b", "c")
SERVICE_AWAY_SECONDS: Final = 3.0
PARTITION_SECONDS: Final = 15.0
"""Longer than the coordinator waits for an answer to its pings, and than tuned heartbeats."""
FULL_SECONDS: Final = 10.0
FULL_BYTES: Final = 600_000
"""No file may be longer: a checkpoint is, what the steps are written to is not."""


@dataclass(frozen=True)
class Case:
    name: str
    about: str
    act: Callable[[Team], float]
    needs_service: bool = False
    """Only for launchers whose workers meet at a process of its own."""

    def fits(self, job: Team) -> bool:
        return not self.needs_service or job.launcher.meeting is not Meeting.FIRST_AGENT


def kill_ranks(*ranks: int) -> Callable[[Team], float]:
    """Whole workers, as if their machines were gone."""

    def act(job: Team) -> float:
        workers = [job.worker_of_rank(rank) for rank in ranks]
        at = job.kill(*workers)
        _await_end(job, workers)
        job.start(*workers)
        return at

    return act


def kill_process(job: Team) -> float:
    """The training process of rank 1; its agent lives."""
    worker = job.worker_of_rank(1)
    agent = job.agents[worker].pid
    at = time.monotonic()
    for pid in job.processes_of(worker):
        if pid != agent and _is_training(pid, job):
            processes.send([pid], signal.SIGKILL)
    return at


def freeze(job: Team) -> float:
    """A worker neither dies nor answers, for good."""
    return job.signal(signal.SIGSTOP, job.worker_of_rank(1))


def restart_service(job: Team) -> float:
    at = _end_service(job)
    time.sleep(SERVICE_AWAY_SECONDS)
    job.serve()
    return at


def restart_service_with_a_loss(job: Team) -> float:
    """While nobody is there to notice, a worker goes."""
    worker = job.worker_of_rank(1)
    at = _end_service(job)
    job.kill(worker)
    _await_end(job, [worker])
    time.sleep(SERVICE_AWAY_SECONDS)
    job.serve()
    job.start(worker)
    return at


def partition(job: Team) -> float:
    """Connections stay, and new ones are taken, but nothing is ever answered."""
    assert job.service is not None
    at = time.monotonic()
    job.service.send_signal(signal.SIGSTOP)
    time.sleep(PARTITION_SECONDS)
    job.service.send_signal(signal.SIGCONT)
    return at


def fill_disk(job: Team) -> float:
    """No checkpoint can be written for a while."""
    at = time.monotonic()
    while time.monotonic() < at + FULL_SECONDS:  # of processes started meanwhile too
        _limit_files(job, FULL_BYTES)
        time.sleep(0.2)
    _limit_files(job, resource.RLIM_INFINITY)
    return at


def tear_checkpoint(job: Team) -> float:
    """The newest checkpoint loses its second half, and a worker goes: the others must restore."""
    job.signal(signal.SIGSTOP, *WORKERS)
    newest = max(checkpoints(job.output), key=lambda path: path.stat().st_mtime_ns)
    with newest.open("r+b") as file:
        file.truncate(newest.stat().st_size // 2)
    worker = job.worker_of_rank(1)
    at = job.kill(worker)
    job.signal(signal.SIGCONT, *(other for other in WORKERS if other != worker))
    _await_end(job, [worker])
    job.start(worker)
    return at


CASES: Final = (
    Case("rank-0", "rank 0 is killed", kill_ranks(0)),
    Case("other", "another rank is killed", kill_ranks(1)),
    Case("two", "two of three are killed at once", kill_ranks(0, 2)),
    Case("process", "a training process alone is killed", kill_process),
    Case("coordinator", "what they meet at is killed, back after 3 s", restart_service, True),
    Case(
        "controller",
        "the same, and a worker goes meanwhile (the controller's process is the coordinator's)",
        restart_service_with_a_loss,
        True,
    ),
    Case("frozen", "a worker is frozen for good", freeze),
    Case("partition", "what they meet at answers nothing for 15 s", partition, True),
    Case("disk", "the disk is full for 10 s", fill_disk),
    Case("torn", "the newest checkpoint is torn, and a rank is killed", tear_checkpoint),
)


def checkpoints(output: Path) -> list[Path]:
    """Files that hold the weights of published checkpoints, ours or torch.save's."""
    published = {path.stem for path in output.glob("checkpoints/w*.json")}
    ours = output.glob("checkpoints/w*/data-*.bin")
    return [
        *(path for path in ours if path.parent.name.rpartition(".")[0] in published),
        *output.glob("checkpoint.pt"),
    ]


def _end_service(job: Team) -> float:
    assert job.service is not None
    at = time.monotonic()
    job.service.kill()
    job.service.wait()
    return at


def _await_end(job: Team, workers: Iterable[str]) -> None:
    for worker in workers:
        job.agents[worker].wait()


def _limit_files(job: Team, limit: int) -> None:
    for worker in WORKERS:
        for pid in job.processes_of(worker):
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def _is_training(pid: int, job: Team) -> bool:
    with suppress(OSError):
        return f"{job.launcher.script}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
