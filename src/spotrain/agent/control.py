"""The agent's side of the channel to its ranks (the other side is `rank`)."""

import contextlib
import json
import mmap
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spotrain.agent.rank import (
    DRAIN_FLAG,
    FLAGS_BYTES,
    FLAGS_NAME,
    LEAVE_FLAG,
    SOCKET_NAME,
    Assignment,
)


@dataclass(frozen=True)
class RankMessage:
    """A message from a rank. `sender` is the channel of one start of the local ranks."""

    sender: "Control"
    local_rank: int
    kind: str
    fields: dict[str, Any]


class Control:
    """The channel to one start of the local ranks; a new start gets a new channel."""

    def __init__(self, received: Callable[[RankMessage], None]) -> None:
        self._received = received
        self.folder = Path(tempfile.mkdtemp(prefix="spotrain-", dir=_short_folder()))
        with (self.folder / FLAGS_NAME).open("w+b") as flags:
            flags.truncate(FLAGS_BYTES)
            self._flags = memoryview(mmap.mmap(flags.fileno(), FLAGS_BYTES)).cast("q")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.folder / SOCKET_NAME))
        self._listener.listen()
        self._ranks: dict[int, socket.socket] = {}
        threading.Thread(target=self._accept, name="ranks", daemon=True).start()

    def ask_drain(self, world: int) -> None:
        self._flags[DRAIN_FLAG] = world

    def ask_leave(self, world: int) -> None:
        self._flags[LEAVE_FLAG] = world

    def assign(self, assignment: Assignment) -> None:
        self._send(assignment.local_rank, {"type": "world", **asdict(assignment)})

    def answer(self, local_rank: int, *, world: int, step: int, accepted: bool | None) -> None:
        message = {"type": "answer", "world": world, "step": step, "accepted": accepted}
        self._send(local_rank, message)

    def peer_returned(self, message: Mapping[str, Any]) -> None:
        for local_rank in list(self._ranks):
            self._send(local_rank, {"type": "peer_returned", **message})

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake `accept`
        self._listener.close()
        for connection in list(self._ranks.values()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _send(self, local_rank: int, message: dict[str, Any]) -> None:
        connection = self._ranks.get(local_rank)
        if connection is not None:
            with contextlib.suppress(OSError):  # a rank that died is noticed as a process
                connection.sendall((json.dumps(message) + "\n").encode())

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        local_rank = None
        with contextlib.suppress(OSError, ValueError), connection:
            for line in connection.makefile("r", encoding="utf-8"):
                fields = json.loads(line)
                local_rank, kind = fields.pop("local_rank"), fields.pop("type")
                self._ranks[local_rank] = connection
                self._received(RankMessage(self, local_rank, kind, fields))
        if local_rank is not None:
            # After all that the rank has sent: its process has ended, or closed the channel.
            self._received(RankMessage(self, local_rank, "disconnected", {}))


def _short_folder() -> str | None:
    """A Unix socket's path has at most 107 bytes; a long TMPDIR would break it."""
    chosen = tempfile.gettempdir()
    return "/tmp" if len(os.fsencode(chosen)) > 60 else None
