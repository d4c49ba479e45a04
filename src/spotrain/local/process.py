"""A pod as a process group: started, told to end, killed; dead with the engine at the latest."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable

from spotrain.agent import tether
from spotrain.local.image import Launch
from spotrain.local.process_output import Output

EXIT_NOT_STARTED = 127
"""A shell's own code for a command that cannot be run."""


class PodProcess:
    """Runs a launch and tells its exit code, when all of its output has been taken."""

    def __init__(
        self,
        launch: Launch,
        output: Output,
        *,
        started: Callable[[], None],
        ended: Callable[[int], None],
    ) -> None:
        self._launch = launch
        self._output = output
        self._started = started
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._killer: asyncio.TimerHandle | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """None until it has been started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def terminate(self, grace_seconds: float) -> None:
        """SIGTERM now, SIGKILL after the grace period."""
        self._stopping = True
        self._signal(signal.SIGTERM)
        loop = asyncio.get_running_loop()
        self._killer = loop.call_later(grace_seconds, self._signal, signal.SIGKILL)

    def kill(self) -> None:
        self._stopping = True
        self._signal(signal.SIGKILL)

    async def wait(self) -> None:
        if self._task is not None:
            await self._task

    def _signal(self, number: signal.Signals) -> None:
        """To the first process, as a container's runtime does; its end is the end of them all."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _run(self) -> None:
        launch = self._launch
        environment = {**launch.environment, tether.ENV_TETHER_PARENT: str(os.getpid())}
        with self._output.begin() as output:
            if launch.workdir.is_dir():
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-S",
                    "-E",
                    tether.__file__,
                    *launch.command,
                    cwd=launch.workdir,
                    env=environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # a Ctrl-C in the terminal is the engine's to handle
                )
            else:
                output.write(f"{launch.workdir}: no such folder to work in\n".encode())
        if self._process is None:
            await self._output.finish()
            self._ended(EXIT_NOT_STARTED)
            return
        self._started()
        if self._stopping:  # told to end while it was being started
            self.kill()
        code = await self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._killer is not None:
            self._killer.cancel()
        await self._output.finish()
        self._ended(code if code >= 0 else 128 - code)
