"""The coordinator is frozen, another one leads on, and then the former leader wakes up.

A stray that knows the former leader alone comes to it, asks for a world, and asks it to accept a
commit of the world that it led: either would make two worlds of one job.
"""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from bench.train.fencing.stalled import LAUNCHER, WAIT_SECONDS, committed_after, is_newest_intact
from bench.train.peers.launchers import JOB, TOKEN
from bench.train.peers.team import Team, free_port, team
from spotrain import contract
from spotrain.coordinator import protocol
from spotrain.train.checkpoint import Catalogue, CheckpointId

HARM_SECONDS: Final = 5.0
"""The stray waits this long for a world. A leader that has one member gathers for no longer."""


@contextmanager
def pair(folder: Path) -> Iterator["Led"]:
    with team(LAUNCHER, folder, max_size=2) as job:
        led = Led(job)
        job.start("a", "b")
        job.until_training(size=2, steps=3)
        try:
            yield led
        finally:
            led.close()


class Led:
    """A job whose coordinator can be replaced by a standby at another port."""

    def __init__(self, job: Team) -> None:
        self._job = job
        self._standby_port = free_port()
        urls = ",".join(f"ws://127.0.0.1:{port}" for port in (job.port, self._standby_port))
        job.launcher = replace(job.launcher, environment={contract.ENV_COORDINATOR: urls})
        self._former: subprocess.Popen[bytes] | None = None

    def trial(self) -> dict[str, Any]:
        """Freeze the leader, let the standby form a world that commits, wake the former leader."""
        job, catalogue = self._job, Catalogue(self._job.output / "checkpoints")
        newest = job.until(lambda _: catalogue.newest_published(), seconds=WAIT_SECONDS)
        former_port, self._former = job.port, job.service
        assert self._former is not None
        self._former.send_signal(signal.SIGSTOP)
        at = time.monotonic()
        job.port = self._standby_port
        job.serve()
        lost = job.worker_of_rank(1)
        job.kill(lost)
        job.agents[lost].wait()
        job.until(lambda _: committed_after(catalogue, newest), seconds=WAIT_SECONDS)
        committed = time.monotonic() - at
        self._former.send_signal(signal.SIGCONT)
        granted = ask_for_harm(former_port, newest)
        self.close()
        self._standby_port = former_port
        job.start(lost)
        job.until_training(size=2, steps=5)
        return {
            "old_world": newest.world,
            "granted": granted,
            "new_world_committed": True,
            "commit_after_seconds": round(committed, 2),
            "newest_is_intact": is_newest_intact(catalogue),
        }

    def close(self) -> None:
        if self._former is not None:
            self._former.kill()
            self._former.wait()


def ask_for_harm(port: int, old: CheckpointId) -> list[str]:
    """What a former leader grants to a worker that comes to it: nothing, if all is well."""
    hello = protocol.Hello(
        version=protocol.VERSION,
        job=JOB,
        pod="stray",
        address="127.0.0.1",
        ranks=1,
        uses_session=True,
    )
    wishes = (
        hello,
        protocol.Ready(port=1, floor=old.world + 100),
        protocol.Commit(world=old.world, step=old.step + 1000),
    )
    granted = []
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url, give_up = f"ws://127.0.0.1:{port}", time.monotonic() + HARM_SECONDS
    with (
        connect(url, additional_headers=headers, proxy=None, open_timeout=60) as connection,
        suppress(ConnectionClosed, TimeoutError),
    ):
        for wish in wishes:
            connection.send(protocol.encode(wish))
        while True:
            text = connection.recv(timeout=max(0.0, give_up - time.monotonic()))
            answer = protocol.decode(text, protocol.FROM_COORDINATOR)
            if isinstance(answer, protocol.NewWorld):
                granted.append(f"world {answer.number}")
            if isinstance(answer, protocol.CommitAnswer) and answer.accepted:
                granted.append(f"commit of world {answer.world}")
    return granted
