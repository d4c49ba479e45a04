"""A coordinator and real agents on loopback, for tests: no controller, no pods."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spotrain import contract, worlds
from spotrain.agent import fork_server
from spotrain.agent.standalone import expect_token
from spotrain.coordinator.inquiry import INSPECT_SECONDS
from spotrain.coordinator.report import JobReport
from spotrain.coordinator.server import Coordinator

JOB = "tests/job/uid"
HANG_SECONDS = 120.0


@dataclass
class Fleet:
    """Agents that run one script; `report` and `until` look at them through the coordinator."""

    folder: Path
    command: Sequence[str]
    limits: worlds.Limits
    inspect_seconds: float = INSPECT_SECONDS
    hang_seconds: float = HANG_SECONDS
    environment: Mapping[str, str] = field(default_factory=dict)
    """Settings of the agents besides what every agent of a job gets."""
    port: int = 0
    agents: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    recorded: list[int] = field(default_factory=list)

    async def serve(self, *, number: int = 0) -> None:
        """Start a coordinator, at the port of the one before if there was one."""
        self.coordinator = Coordinator(
            record=self._record,
            authorize=expect_token("token"),
            inspect_seconds=self.inspect_seconds,
        )
        self.coordinator.watchers.append(lambda _job: self.changed.set())
        self.coordinator.set_job(JOB, self.limits, number=number)
        self._serving = self.coordinator.serving("127.0.0.1", self.port)
        self.port = await self._serving.__aenter__()

    async def restart_coordinator(self, *, number: int) -> None:
        """It forgets everything but the last world's number."""
        await self.stop_serving()
        await self.serve(number=number)

    async def stop_serving(self) -> None:
        await self._serving.__aexit__(None, None, None)

    async def _record(self, _job: str, number: int) -> None:
        self.recorded.append(number)

    async def start(self, pod: str, *, grace_seconds: float = 30, port: int | None = None) -> None:
        """`port`: where it finds the coordinator, if not at its own."""
        environment = {
            **os.environ,
            contract.ENV_COORDINATOR: f"ws://127.0.0.1:{port or self.port}",
            contract.ENV_TOKEN: "token",
            contract.ENV_JOB: JOB,
            contract.ENV_POD: pod,
            contract.ENV_ADDRESS: "127.0.0.1",
            contract.ENV_GRACE_SECONDS: str(grace_seconds),
            contract.ENV_SAMPLE_LOG: str(self.folder / "samples"),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            **self.environment,
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # torch without .pyc imports in 10 s
        with (self.folder / f"{pod}.log").open("ab") as log:
            self.agents[pod] = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "spotrain.agent",
                *self.command,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def notice(self, pod: str) -> None:
        self.agents[pod].send_signal(signal.SIGTERM)

    def kill(self, pod: str) -> None:
        self.agents[pod].send_signal(signal.SIGKILL)

    def ranks_of(self, pod: str) -> list[int]:
        """Process ids of the ranks of an agent."""
        pid = self.agents[pod].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [
            int(child)
            for child in children
            if Path(f"/proc/{child}/comm").read_text().strip() != fork_server.NAME
        ]

    def let_finish(self) -> None:
        """Tell scripts/session.py that it has trained enough."""
        (self.folder / "out" / "enough").touch()

    async def exit_code(self, pod: str) -> int:
        async with asyncio.timeout(self.hang_seconds):
            return await self.agents[pod].wait()

    async def logged(self, pattern: str, *, times: int = 1, pod: str = "*") -> None:
        """Wait until the log of `pod` (`*`: of some agent) has this so many times."""
        async with asyncio.timeout(self.hang_seconds):
            while not any(
                len(re.findall(pattern, path.read_text())) >= times
                for path in self.folder.glob(f"{pod}.log")
            ):
                await asyncio.sleep(0.05)

    @property
    def report(self) -> JobReport:
        report = self.coordinator.report(JOB)
        assert report is not None
        return report

    async def until(self, holds: Callable[[JobReport], bool]) -> JobReport:
        """Wait for a state of the job; the logs of all agents are shown if it never comes."""
        try:
            async with asyncio.timeout(self.hang_seconds):
                while not holds(self.report):
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            logs = "\n".join(
                f"== {path.name}\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log")
            )
            raise AssertionError(f"never came about: {self.report}\n{logs}") from None
        return self.report

    async def until_step(self, steps: int, *, size: int) -> JobReport:
        """Wait until a world of `size` has done `steps` steps of its own."""
        return await self.until(
            lambda report: (
                report.size == size
                and report.history[-1].first_step is not None
                and (report.history[-1].last_step or 0) >= report.history[-1].first_step + steps
            )
        )


@asynccontextmanager
async def fleet(
    folder: Path,
    command: Sequence[str],
    limits: worlds.Limits,
    *,
    inspect_seconds: float = INSPECT_SECONDS,
    hang_seconds: float = HANG_SECONDS,
) -> AsyncIterator[Fleet]:
    """A fleet whose agents are all dead when the context is left."""
    made = Fleet(folder, command, limits, inspect_seconds, hang_seconds)
    await made.serve()
    try:
        yield made
    finally:
        for agent in made.agents.values():
            if agent.returncode is None:
                agent.kill()
            await agent.wait()
        await made.stop_serving()
