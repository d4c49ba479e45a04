"""The workers of one trial as processes of this machine, and what can happen to them."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from bench.train.peers import processes
from bench.train.peers.launchers import Launcher, Meeting
from bench.train.peers.pauses import steps_of_newest_world, worker_of_rank
from bench.train.peers.steps import FOLDER_VARIABLE, WORKER_VARIABLE, StepDone, StepReader

ROOT: Final = Path(__file__).parents[3]
TEAM_VARIABLE: Final = "BENCH_TEAM"
LOOK_SECONDS: Final = 0.02
"""Between two looks at the steps; what is measured is the time that the ranks wrote down."""
START_SECONDS: Final = 240.0
"""Against hanging: the first world of a team on a machine that is busy."""

Found = TypeVar("Found")


class NeverCame(Exception):
    """What was waited for did not come; the message ends with what the workers logged last."""


class Team:
    """One job under one launcher. Use `team`, which leaves no process behind."""

    def __init__(
        self, launcher: Launcher, folder: Path, *, max_size: int, options: Sequence[str] = ()
    ) -> None:
        self.launcher = launcher
        self.folder = folder
        self.max_size = max_size
        self.options = tuple(options)
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        self.output = folder / "output"
        self._id = uuid.uuid4().hex
        self._steps = folder / "steps"
        for made in (self.output, self._steps):
            made.mkdir(parents=True)
        self._reader = StepReader(self._steps)
        self.service: subprocess.Popen[bytes] | None = None
        self.port = 0
        if launcher.meeting is Meeting.FIRST_AGENT:
            self.port = free_port()
        else:
            self.serve()

    # --- What happens ---

    def serve(self) -> None:
        """Start what the agents meet at; at the same port, if it was there before."""
        module = self.launcher.meeting.value
        command = [sys.executable, "-m", module, str(self.port), str(self.max_size)]
        with (self.folder / "service.log").open("ab") as log:
            self.service = subprocess.Popen(
                [*command, str(self.folder / "world-number")],
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment("service"),
                cwd=ROOT,
            )
        assert self.service.stdout is not None
        with self.service.stdout as told:
            self.port = int(told.readline())

    def start(self, *workers: str) -> float:
        """Start agents; returns when they were told to, in seconds of the monotonic clock."""
        at = time.monotonic()
        for worker in workers:
            command = self.launcher.command(max_size=self.max_size, port=self.port)
            with (self.folder / f"{worker}.log").open("ab") as log:
                self.agents[worker] = subprocess.Popen(
                    [sys.executable, *command, str(self.output), *self.options],
                    stdout=log,
                    stderr=log,
                    env=self._environment(worker),
                    cwd=ROOT,
                )
            if self.launcher.meeting is Meeting.FIRST_AGENT and len(self.agents) == 1:
                self._await_listener()
        return at

    def notice(self, worker: str) -> float:
        """SIGTERM to the agent, as a pod gets it; returns when."""
        at = time.monotonic()
        self.agents[worker].send_signal(signal.SIGTERM)
        return at

    def kill(self, *workers: str) -> float:
        """SIGKILL to agents and ranks at once, as if their machines were gone; returns when."""
        return self.signal(signal.SIGKILL, *workers)

    def signal(self, sign: signal.Signals, *workers: str) -> float:
        pids = [pid for worker in workers for pid in self.processes_of(worker)]
        at = time.monotonic()
        processes.send(pids, sign)
        return at

    # --- What can be seen ---

    def processes_of(self, worker: str) -> list[int]:
        """The agent, its ranks, and whatever they have started."""
        return processes.find(TEAM_VARIABLE, f"{self._id}-{worker}")

    def steps(self) -> list[StepDone]:
        """What all ranks have done so far, in the order of time."""
        return self._reader.look()

    def until(self, look: Callable[[list[StepDone]], Found | None], *, seconds: float) -> Found:
        """Wait until `look` finds something in the steps.

        Raises:
            NeverCame: the time is over, or every agent has ended.
        """
        give_up = time.monotonic() + seconds
        while True:
            has_ended = all(agent.poll() is not None for agent in self.agents.values())
            found = look(self.steps())
            if found is not None:
                return found
            if has_ended or time.monotonic() >= give_up:
                why = "every agent has ended" if has_ended else f"not within {seconds:.0f} s"
                raise NeverCame(f"{self.launcher.name}: {why}\n{self.last_words()}")
            time.sleep(LOOK_SECONDS)

    def until_training(self, *, size: int, steps: int) -> None:
        """Wait until a world of `size` ranks has done so many steps of its own."""

        def look(done: list[StepDone]) -> bool | None:
            return steps_of_newest_world(done, size=size) >= steps or None

        self.until(look, seconds=START_SECONDS)

    def worker_of_rank(self, rank: int) -> str:
        return worker_of_rank(self.steps(), rank)

    def close(self) -> None:
        for worker in [*self.agents, "service"]:
            self.kill(worker)
        for process in [*self.agents.values(), *([self.service] if self.service else [])]:
            process.wait()

    def _environment(self, worker: str) -> dict[str, str]:
        ours = ("SPOTRAIN_", "PET_", "TORCHELASTIC_", "TORCH_DISABLE_")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # torch without .pyc files imports in 10 s
        return {
            **kept,
            **self.launcher.variables(worker=worker, port=self.port),
            TEAM_VARIABLE: f"{self._id}-{worker}",
            FOLDER_VARIABLE: str(self._steps),
            WORKER_VARIABLE: worker,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
        }

    def _await_listener(self) -> None:
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(LOOK_SECONDS)
        raise NeverCame(f"{self.launcher.name}: the first agent opens no store")

    def last_words(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(
            f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs
        )


@contextmanager
def team(
    launcher: Launcher, folder: Path, *, max_size: int, options: Sequence[str] = ()
) -> Iterator[Team]:
    """A team whose processes are all gone when the context is left."""
    made = Team(launcher, folder, max_size=max_size, options=options)
    try:
        yield made
    finally:
        made.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
