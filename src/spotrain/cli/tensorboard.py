"""TensorBoard as a process of this machine, on loopback."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.listeners import local_port

START_SECONDS: Final = 120.0
"""It takes two to four on an idle machine."""
STOP_SECONDS: Final = 5.0
RELOAD_SECONDS: Final = 5


@dataclass(frozen=True)
class TensorBoard:
    address: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def has_ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.poll() is not None

    def failure(self) -> UserError:
        """What it said last."""
        lines = self.log.read_text(errors="replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")
        return UserError(f"TensorBoard has ended: {said}", exit_code=NO_CLUSTER)


@contextmanager
def running(runs: Path, log: Path, port: int) -> Iterator[TensorBoard]:
    """It serves the folder `runs`, and what is added to it, until the context ends.

    Raises UserError: the port is taken, or it does not start.
    """
    with local_port(port) as (_, chosen):
        pass  # free a moment ago; if somebody is faster, it says so itself
    words = ("--host", "127.0.0.1", "--port", str(chosen), "--reload_interval", str(RELOAD_SECONDS))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", str(runs), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a Ctrl-C is for the command, which ends it
        )
    board = TensorBoard(f"http://127.0.0.1:{chosen}/", process, log)
    try:
        _wait_until_it_serves(board, chosen)
        yield board
    finally:
        process.terminate()
        if not board.has_ended_within(STOP_SECONDS):
            process.kill()
            process.wait()


def _wait_until_it_serves(board: TensorBoard, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if board.process.poll() is not None:
            raise board.failure()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise UserError(
        f"TensorBoard has not started within {START_SECONDS:.0f} s; is this machine very busy? Try "
        "again.",
        exit_code=NO_CLUSTER,
    )
