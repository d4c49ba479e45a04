"""What the machine can do when nobody disturbs it: full speed by size, and the start of a job."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import cpu_seconds
from bench.train.goodput.account import speed_of
from bench.train.peers.launchers import SESSION, UNMODIFIED
from bench.train.peers.scripts.work import BATCH
from bench.train.peers.team import Team, team


@dataclass(frozen=True)
class Calm:
    speed: dict[int, float]
    """Samples a second by number of nodes."""
    start_seconds: float
    """From the start of one agent to the first step."""
    cpu_seconds: dict[int, float]
    """Processor time of a step, one rank's, by number of nodes."""


def measure(most: int, *, step_seconds: float, steps: int = 50) -> Calm:
    """Plain scripts, without the session's own costs, in worlds of 1 to `most` nodes.

    Under our agent: torchrun with its defaults may end the job when a worker joins late.
    """
    speed, cpu = {}, {}
    options = ("--step-seconds", str(step_seconds))
    for size in range(1, most + 1):
        with (
            tempfile.TemporaryDirectory() as folder,
            team(UNMODIFIED, Path(folder), max_size=size, options=options) as job,
        ):
            job.start(*(f"w{number}" for number in range(size)))
            job.until_training(size=size, steps=5)
            used, done = cpu_of(job), len(job.steps())
            job.until_training(size=size, steps=5 + steps)
            cpu[size] = (cpu_of(job) - used) / (len(job.steps()) - done)
            speed[size] = speed_of(job.steps(), batch=BATCH)
    return Calm(speed, start_of_one(options), cpu)


def start_of_one(options: Sequence[str]) -> float:
    """With the session: our agent waits to see whether a plain script will speak."""
    with (
        tempfile.TemporaryDirectory() as folder,
        team(SESSION, Path(folder), max_size=1, options=options) as job,
    ):
        at = job.start("w0")
        job.until_training(size=1, steps=1)
        return job.steps()[0].at - at


def cpu_of(job: Team) -> float:
    """Seconds of processor time that the job's processes have used, agents included."""
    pids = [pid for worker in job.agents for pid in job.processes_of(worker)]
    return sum(map(cpu_seconds, pids))
