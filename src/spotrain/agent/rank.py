"""The rank's side of the channel between an agent and its training processes.

A Unix socket in a private folder carries JSON lines; two numbers in shared memory carry the two
requests that are asked for at every step (reading them costs 0.1 microseconds): the world that is
to be drained, and the world that must be left at once. Only the standard library is used here.
"""

import contextlib
import json
import mmap
import os
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from spotrain import contract
from spotrain.agent.marks import Marks

SOCKET_NAME = "control.sock"
FLAGS_NAME = "flags"
FLAGS_BYTES = 16
DRAIN_FLAG, LEAVE_FLAG = 0, 1


class ChannelClosed(RuntimeError):
    """The agent is gone; without it nothing can be committed and no world can be formed."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """This rank's place in a world."""

    number: int
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    group_rank: int
    group_world_size: int
    store_host: str
    store_port: int
    restore: tuple[int, int] | None
    """(world, step) of the newest checkpoint that the coordinator knows of."""


@dataclass(frozen=True, kw_only=True)
class PeerReturned:
    """A rank that has returned from training; see `protocol.Returned` for the fields."""

    world: int
    rank: int
    step: int
    collectives: int


class Channel:
    """One rank's connection to its agent. If the agent dies, the process ends itself."""

    def __init__(self, folder: Path, local_rank: int) -> None:
        self._flags_file = (folder / FLAGS_NAME).open("rb")
        memory = mmap.mmap(self._flags_file.fileno(), FLAGS_BYTES, access=mmap.ACCESS_READ)
        self._flags = memoryview(memory).cast("q")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(folder / SOCKET_NAME))
        self._sending = threading.Lock()
        self._worlds: queue.Queue[Assignment] = queue.Queue()
        self._answers: queue.Queue[tuple[int, int, bool | None]] = queue.Queue()
        self._local_rank = local_rank
        self._marks = Marks(folder, local_rank)
        self._world = 0
        self.on_peer_returned: Callable[[PeerReturned], None] = lambda _: None
        """Called on the receiving thread, even while the training thread waits for a peer."""
        threading.Thread(target=self._receive, name="agent", daemon=True).start()

    @classmethod
    def from_environment(cls) -> "Channel | None":
        """The channel that the agent announced, or None outside `spotrain-run`."""
        folder = os.environ.get(contract.ENV_CONTROL)
        return cls(Path(folder), int(os.environ["LOCAL_RANK"])) if folder else None

    def arrive(self, *, survivor: bool, floor: int) -> None:
        """Say that this rank waits for a world; `floor`: the newest world in its output."""
        self._send("arrive", survivor=survivor, floor=floor)

    def next_world(self) -> Assignment:
        place = self._worlds.get()
        self._world = place.number
        return place

    def mark(self, *, step: int, batches: int) -> None:
        """Note how far this rank is: `batches` taken since global step `step`. Costs nothing."""
        self._marks.set(self._world, step, batches)

    def is_drain_asked(self, world: int) -> bool:
        return self._flags[DRAIN_FLAG] == world

    def is_leave_asked(self, world: int) -> bool:
        return self._flags[LEAVE_FLAG] == world

    def drained(self, world: int) -> None:
        self._send("drained", world=world)

    def broken(self, world: int, message: str, *, excused: bool) -> None:
        """Say that the world is over for this rank; `excused`: the script is not to blame."""
        self._send("broken", world=world, message=message[:1000], excused=excused)

    def returned(self, world: int, rank: int, *, step: int, collectives: int) -> None:
        """Report that training has returned on this rank; see `protocol.Returned`."""
        self._send("returned", world=world, rank=rank, step=step, collectives=collectives)

    def deserted(self, world: int, rank: int, *, step: int) -> None:
        """Report that rank `rank` returned after `step` while this one waits for it to go on."""
        self._send("deserted", world=world, rank=rank, step=step)

    def trained(self, world: int) -> None:
        """Report that training has returned on all ranks, and the last state is committed."""
        self._send("trained", world=world)

    def progress(self, world: int, **report: Any) -> None:
        self._send("progress", world=world, **report)

    def ask_commit(self, world: int, step: int, *, timeout_seconds: float) -> bool | None:
        """Whether the coordinator accepts this commit; None if it is away or does not answer."""
        while not self._answers.empty():  # answers to questions that were given up
            self._answers.get_nowait()
        self._send("commit", world=world, step=step)
        with contextlib.suppress(queue.Empty):
            while True:
                of_world, of_step, accepted = self._answers.get(timeout=timeout_seconds)
                if (of_world, of_step) == (world, step):
                    return accepted
        return None

    def saved(self, world: int, step: int) -> None:
        self._send("saved", world=world, step=step)

    def _send(self, kind: str, **fields: Any) -> None:
        line = json.dumps({"type": kind, "local_rank": self._local_rank, **fields}) + "\n"
        try:
            with self._sending:
                self._socket.sendall(line.encode())
        except OSError as error:
            raise ChannelClosed(f"the agent is gone: {error}") from None

    def _receive(self) -> None:
        with contextlib.suppress(OSError):
            for line in self._socket.makefile("r", encoding="utf-8"):
                self._take(json.loads(line))
        _end_process()

    def _take(self, message: Mapping[str, Any]) -> None:
        match message["type"]:
            case "world":
                restore = message["restore"]
                fields = {k: v for k, v in message.items() if k not in ("type", "restore")}
                self._worlds.put(Assignment(**fields, restore=tuple(restore) if restore else None))
            case "peer_returned":
                fields = {k: v for k, v in message.items() if k != "type"}
                self.on_peer_returned(PeerReturned(**fields))
            case "answer":
                self._answers.put((message["world"], message["step"], message["accepted"]))


def _end_process() -> NoReturn:
    """An orphan must not train on: its world is being re-formed without it."""
    os._exit(contract.EXIT_FAILED)
