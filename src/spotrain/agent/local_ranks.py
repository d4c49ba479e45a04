"""The ranks of one agent: their processes and the channel to them, as one thing to act on."""

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from torch.distributed.elastic.agent.server.api import RunResult

from spotrain.agent.control import Control, RankMessage
from spotrain.agent.hang import tell_where_ranks_are
from spotrain.agent.processes import Place, Ranks
from spotrain.agent.rank import Assignment
from spotrain.coordinator import protocol

PEERS_SECONDS: Final = 0.2
"""From the word of a planned stop to the signal. Agents hear that word some milliseconds apart: a
rank that lost its peers before its own agent had heard it would tell of an error that nothing
explains, and count as failed. Training goes on for so long."""


class LocalRanks:
    """Knows which ranks wait for a world and which are in one; decides nothing."""

    def __init__(
        self,
        processes: Ranks,
        received: Callable[[RankMessage], None],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._processes = processes
        self._sleep = sleep
        self._received = received
        self._control: Control | None = None
        self._waiting: dict[int, bool] = {}
        """Local rank -> whether its process lived through the last world."""
        self._inside: set[int] = set()
        self.has_entered = False
        """Whether any rank was in a world since the last start."""
        self._trained: set[int] = set()
        """Local ranks on which training has returned, its last state committed."""
        self._disconnected: set[int] = set()

    @property
    def count(self) -> int:
        return self._processes.count

    @property
    def running(self) -> bool:
        return self._processes.running

    @property
    def is_importing(self) -> bool:
        """Whether a start would wait: what ranks are forked from is not ready yet, but will be."""
        return self._processes.is_importing

    @property
    def anyone_inside(self) -> bool:
        return bool(self._inside)

    @property
    def all_wait(self) -> bool:
        """Every rank is up and waits for a world."""
        return len(self._waiting) == self.count and not self._inside

    @property
    def all_survived(self) -> bool:
        return all(self._waiting.values())

    def is_current(self, message: RankMessage) -> bool:
        """False for what a rank of an earlier start still had to say."""
        return message.sender is self._control

    def wait_for_world(self, local_rank: int, *, survivor: bool) -> None:
        self._waiting[local_rank] = survivor
        self._trained.discard(local_rank)

    def trained(self, local_rank: int) -> bool:
        """Training has returned on this rank; returns whether it has on all of them now."""
        self._trained.add(local_rank)
        return len(self._trained) == self.count

    def disconnected(self, local_rank: int) -> None:
        self._disconnected.add(local_rank)

    @property
    def left_early(self) -> set[int]:
        """Ranks whose processes exited with 0 before training had returned on them."""
        return self._processes.exited_with_0() - self._trained

    @property
    def are_messages_read(self) -> bool:
        """Whether all that ended ranks have sent has been received."""
        return self._disconnected >= self._processes.exited_with_0()

    def reported_errors(self) -> dict[int, str]:
        return self._processes.reported_errors()

    def left_world(self, local_rank: int) -> None:
        self._inside.discard(local_rank)

    def start(self, place: Place | None) -> None:
        """Start every rank, with its world or ahead of it, on a channel of its own."""
        self._close_channel()
        self._control = Control(self._received)
        self._waiting.clear()
        self._inside.clear()
        self._trained.clear()
        self._disconnected.clear()
        self.has_entered = False
        self._processes.start(place, self._control.folder)

    def stop(self, *, seconds: float) -> None:
        self._processes.stop(seconds=seconds)
        self._close_channel()

    def stop_with_peers(self, *, seconds: float) -> None:
        """As planned, about when the other agents stop theirs."""
        pause = min(PEERS_SECONDS, seconds / 4)
        self._sleep(pause)
        self.stop(seconds=seconds - pause)

    def kill(self) -> None:
        self._processes.kill()
        self._close_channel()

    def poll(self) -> RunResult | None:
        return self._processes.poll()

    def success(self) -> RunResult:
        return self._processes.success()

    @property
    def shutdown_seconds(self) -> float:
        return self._processes.shutdown_seconds

    def begin_world(self) -> None:
        """A new world was published: nobody is in it yet."""
        self._inside.clear()

    def assign_all(self, world: protocol.NewWorld, pod: str) -> None:
        for local_rank in sorted(self._waiting):
            self.assign(world, pod, local_rank)

    def assign(self, world: protocol.NewWorld, pod: str, local_rank: int) -> None:
        assert self._control is not None
        self._waiting.pop(local_rank, None)
        self._inside.add(local_rank)
        self.has_entered = True
        self._control.assign(assignment(world, pod, local_rank=local_rank, count=self.count))

    def ask_drain(self, world: int) -> None:
        if self._control is not None:
            self._control.ask_drain(world)

    def ask_leave(self, world: int) -> None:
        if self._control is not None:
            self._control.ask_leave(world)

    def tell_where_they_are(self, world: int, send: Callable[[protocol.FromAgent], bool]) -> None:
        if self._control is not None:
            tell_where_ranks_are(self._control.folder, self.count, world=world, send=send)

    def peer_returned(self, message: protocol.PeerReturned) -> None:
        if self._control is not None:
            self._control.peer_returned(asdict(message))

    def answer(self, local_rank: int, *, world: int, step: int, accepted: bool | None) -> None:
        if self._control is not None:
            self._control.answer(local_rank, world=world, step=step, accepted=accepted)

    def _close_channel(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


def assignment(world: protocol.NewWorld, pod: str, *, local_rank: int, count: int) -> Assignment:
    """The place of a rank of `pod` in a world: global ranks go through the seats in order."""
    group_rank = [seat.id for seat in world.seats].index(pod)
    return Assignment(
        number=world.number,
        rank=sum(seat.ranks for seat in world.seats[:group_rank]) + local_rank,
        world_size=sum(seat.ranks for seat in world.seats),
        local_rank=local_rank,
        local_world_size=count,
        group_rank=group_rank,
        group_world_size=len(world.seats),
        store_host=world.seats[0].address,
        store_port=world.store_port,
        restore=(world.restore.world, world.restore.step) if world.restore else None,
    )
