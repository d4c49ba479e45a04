"""Warm starts: the agent's side of `fork_server`, which says how a rank comes to be."""

import argparse
import json
import logging
import os
import select
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.distributed.launcher.api import LaunchConfig

from spotrain import contract
from spotrain.agent.fork_server import LENGTH
from spotrain.agent.forked import Forked
from spotrain.agent.tether import adopt_orphans

logger = logging.getLogger(__name__)

PRELOAD = ("torch", "torch.distributed", "torch._dynamo", "spotrain.train")
"""`torch._dynamo` is imported by the first optimizer otherwise, which takes a second."""
IMPORT_SECONDS = 60.0
"""Ranks wait so long for a server that is still importing: they would import no faster."""
FORK_SECONDS = 10.0
MAX_STARTS = 3


class ForkFailed(RuntimeError):
    """No warm start can be had now; a cold one can."""


@dataclass(frozen=True)
class Script:
    """What ranks run, where that is a Python script or module."""

    name: str
    is_module: bool
    arguments: int
    """How many follow the name."""


def warm_script(
    options: argparse.Namespace, config: LaunchConfig, command: object
) -> Script | None:
    """What a fork can run as a fresh process would; None where it could not."""
    is_python = command == sys.executable and not (options.no_python or options.run_path)
    if not is_python or config.numa_options is not None or sys.platform != "linux":
        return None
    if not options.module and zipfile.is_zipfile(options.training_script):
        return None
    return Script(options.training_script, options.module, len(options.training_script_args))


def preload_of(environment: Mapping[str, str]) -> list[str]:
    own = environment.get(contract.ENV_PRELOAD, "").replace(",", " ").split()
    return [*PRELOAD, *own]


class ForkServer:
    """One server at a time, replaced when it ends; all is tried without waiting except `fork`."""

    def __init__(self, script: Script, preload: Sequence[str]) -> None:
        self.script = script
        self._preload = list(preload)
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._starts = 0
        self._started_at = 0.0
        self._is_ready = False

    def start(self) -> None:
        """Start a server; it imports in the background. Call this on the main thread."""
        if self._starts >= MAX_STARTS or not adopt_orphans():
            return
        self._starts += 1
        self._started_at = time.monotonic()
        self._is_ready = False
        ours, theirs = socket.socketpair()
        setting = {
            "script": self.script.name,
            "module": self.script.is_module,
            "preload": self._preload,
        }
        code = "from spotrain.agent.fork_server import main; main()"
        arguments = [str(theirs.fileno()), str(os.getpid()), json.dumps(setting)]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-u", "-c", code, *arguments],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._channel = ours

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def is_ready(self) -> bool:
        """Whether a rank can be forked now. Notices a server that has ended, and replaces it."""
        has_ended = self._process is not None and self._process.poll() is not None
        # What it said before it ended counts: why it cannot fork, for one.
        if self._channel is not None and not self._is_ready and _readable(self._channel, 0):
            self._take_readiness(self._channel)
        if has_ended and self._process is not None:
            logger.warning("the fork server ended with code %s", self._process.returncode)
            self.close()
            self.start()
        return self._is_ready

    def is_importing(self) -> bool:
        """Whether waiting for it is worth while."""
        if self.is_ready() or self._process is None:
            return False
        return time.monotonic() < self._started_at + IMPORT_SECONDS

    def fork(
        self, argv: Sequence[str], environment: Mapping[str, str], *, stdout: int, stderr: int
    ) -> Forked:
        """A new rank, a child of this process.

        Raises:
            ForkFailed: no rank was started, and none will be.
        """
        if not self.is_ready() or self._channel is None:
            raise ForkFailed("the fork server is not ready")
        request = json.dumps({"argv": list(argv), "environment": dict(environment)}).encode()
        their_go, go = os.pipe()
        try:
            socket.send_fds(self._channel, [LENGTH.pack(len(request))], [stdout, stderr, their_go])
            self._channel.sendall(request)
            os.close(their_go)
            their_go = -1
            if not _readable(self._channel, FORK_SECONDS):
                raise ForkFailed(f"no process within {FORK_SECONDS:g} s")
            pid = _receive(self._channel)["pid"]
            os.write(go, b"g")  # without it the process ends: there is never a second one
            return Forked(pid)
        except (OSError, ValueError, KeyError, ForkFailed) as error:
            self.close()
            self.start()
            raise ForkFailed(str(error) or type(error).__name__) from error
        finally:
            for fd in (their_go, go):
                if fd >= 0:
                    os.close(fd)

    def close(self) -> None:
        """End the server. Ranks that it has forked live on: they are this process's children."""
        self._is_ready = False
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _take_readiness(self, channel: socket.socket) -> None:
        try:
            message = _receive(channel)
        except (OSError, ValueError):
            return  # it has ended, which the next look at its process shows
        self._is_ready = message.get("ready") is True
        if self._is_ready:
            self._starts = 0
        else:
            logger.warning("ranks are started cold: %s", message.get("error"))
            self._starts = MAX_STARTS
            self.close()


def _readable(channel: socket.socket, seconds: float) -> bool:
    return bool(select.select([channel], [], [], seconds)[0])


def _receive(channel: socket.socket) -> dict[str, Any]:
    """One line; the server sends each at once, and no second before it is asked again."""
    message = json.loads(channel.recv(65536) or b"null")
    if not isinstance(message, dict):
        raise ValueError("the fork server has closed the connection")
    return message
