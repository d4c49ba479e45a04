"""One run of a container: a process, its log, and the message that it leaves."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spotrain.local.image import Launch
from spotrain.local.kubelet.contents import LONGEST_LOG_END, termination_message
from spotrain.local.kubelet.states import Ended
from spotrain.local.process import PodProcess
from spotrain.local.process_output import FileOutput


@dataclass(frozen=True, kw_only=True)
class Files:
    """Where one run of a container writes."""

    log: Path
    termination: Path


class ContainerRun:
    """Usage: `await ContainerRun(spec, launch, files).run(started)`."""

    def __init__(self, spec: Mapping[str, Any], launch: Launch, files: Files) -> None:
        self._spec = spec
        self._launch = launch
        self._files = files
        self._process: PodProcess | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def terminate(self, grace_seconds: float) -> None:
        if self._process:
            self._process.terminate(grace_seconds)

    def kill(self) -> None:
        if self._process:
            self._process.kill()

    async def run(self, started: Callable[[datetime], None]) -> Ended:
        """Until it has ended; the process does not outlive a cancellation."""
        began = datetime.now(UTC)
        over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._files.termination.write_bytes(b"")
        self._process = PodProcess(
            self._launch,
            FileOutput(self._files.log),
            started=lambda: started(began),
            ended=lambda code: over.set_result(code) if not over.done() else None,
        )
        self._process.start()
        try:
            code = await over
        except asyncio.CancelledError:
            self._process.kill()
            await self._process.wait()
            raise
        return Ended(code, began, datetime.now(UTC), message=self._message(code))

    def _message(self, code: int) -> str:
        return termination_message(
            self._files.termination.read_bytes(),
            _end_of(self._files.log, LONGEST_LOG_END),
            policy=self._spec.get("terminationMessagePolicy", "File"),
            exit_code=code,
        )


def _end_of(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - count))
        return file.read()
