"""`spotrain` as a person types it, against a server of the tests."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

LIMIT_SECONDS = 240.0


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> object:
        return yaml.safe_load(self.out)


@dataclass(frozen=True)
class Person:
    """Somebody with a kubeconfig and nothing else."""

    kubeconfig: Path
    namespace: str
    folder: Path
    """Where the commands are typed."""

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "USER": "ada",
            "PYTHONPATH": ":".join(path for path in sys.path if path),
            "KUBECONFIG": str(self.kubeconfig),
            "SPOTRAIN_NAMESPACE": self.namespace,
        }

    async def types(self, *words: str) -> Answer:
        """`spotrain` with these words, until it has ended."""
        process = await self.starts(*words)
        async with asyncio.timeout(LIMIT_SECONDS):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Answer(process.returncode, out.decode(), err.decode())

    async def starts(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "spotrain.cli",
            *words,
            cwd=self.folder,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A shell that runs the tests in its background has it ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
