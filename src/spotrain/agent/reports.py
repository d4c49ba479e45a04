"""What an agent reports to the coordinator, for its ranks and for itself."""

from collections.abc import Callable
from typing import Any

from spotrain.agent.local_ranks import LocalRanks
from spotrain.coordinator import protocol
from spotrain.worlds import Cause

Send = Callable[[protocol.FromAgent], bool]
"""To the coordinator; False if it is away and the message is lost."""


class Reports:
    """Names the world in each message, and knows what to repeat after a reconnection."""

    def __init__(self, ranks: LocalRanks, send: Send) -> None:
        self._ranks = ranks
        self.send = send
        self._world = 0
        self._asked: dict[tuple[int, int], int] = {}
        """(world, step) of a commit -> the local rank that waits for the answer."""
        self._saved: protocol.Saved | None = None
        self._first_progress: protocol.Progress | None = None
        self._returned: protocol.Returned | None = None
        self._trained: protocol.Trained | None = None

    # --- Of the agent ---

    def begin_world(self, number: int) -> None:
        self._world = number
        self._first_progress = None
        self._returned = self._trained = None
        self._asked.clear()

    def starting(self) -> None:
        self.send(protocol.Starting(world=self._world))

    def uses_session(self) -> None:
        self.send(protocol.UsesSession(value=True))

    def ready(self, *, port: int, survivor: bool, floor: int) -> None:
        self.send(protocol.Ready(port=port, survivor=survivor, world=self._world, floor=floor))

    def floor_found(self, floor: int) -> None:
        self.send(protocol.FloorFound(number=floor))

    def leaving(self, seconds: float) -> None:
        self.send(protocol.Leaving(seconds=seconds))

    def drained(self) -> None:
        self.send(protocol.Drained(world=self._world))

    def finished(self) -> None:
        self.send(protocol.Finished(world=self._world))

    def failed(
        self, message: str, *, hard: bool, cause: Cause = Cause.SYMPTOM, excused: bool = False
    ) -> None:
        self.send(
            protocol.Failed(
                world=self._world,
                hard=hard,
                message=message,
                excused=excused,
                cause=cause.name.lower(),
            )
        )

    # --- Of its ranks ---

    def commit(self, local_rank: int, *, world: int, step: int) -> None:
        self._asked[world, step] = local_rank
        if not self.send(protocol.Commit(world=world, step=step)):
            del self._asked[world, step]  # the rank is told at once, and does not wait in vain
            self._ranks.answer(local_rank, world=world, step=step, accepted=None)

    def answer(self, answer: protocol.CommitAnswer) -> None:
        local_rank = self._asked.pop((answer.world, answer.step), None)
        if local_rank is not None:
            self._ranks.answer(
                local_rank, world=answer.world, step=answer.step, accepted=answer.accepted
            )

    def saved(self, *, world: int, step: int) -> None:
        self._saved = protocol.Saved(world=world, step=step)
        self.send(self._saved)

    def returned(self, fields: dict[str, Any]) -> None:
        self._returned = protocol.Returned(**fields)
        self.send(self._returned)

    def trained(self) -> None:
        self._trained = protocol.Trained(world=self._world)
        self.send(self._trained)

    def progress(self, fields: dict[str, Any]) -> None:
        progress = protocol.Progress(**fields)
        if progress.restored_step is not None:
            self._first_progress = progress
        self.send(progress)

    def repeat(self) -> None:
        """What a coordinator that has just been started could not know."""
        for message in (self._saved, self._first_progress, self._returned, self._trained):
            if message is not None:
                self.send(message)
