"""One job at the coordinator: its state machine, its connections and its history."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.inquiry import Inquiry
from spotrain.worlds import history

logger = logging.getLogger(__name__)

Record = Callable[[str, int], Awaitable[None]]
"""Makes a job's world number durable before the world is published."""
Send = Callable[[str | None], None]
"""Puts a message into a connection's outbox and never waits; None closes the connection."""

INSPECT_SECONDS = 3.0
"""A world that hangs is ended after this time, whether or not all of its agents have answered."""
MAX_METRICS = 128
"""Of a job; a script that names its metrics anew at every step must not grow without bound."""


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """What the coordinator knows of a job, for the controller and the ledger."""

    number: int
    size: int
    phase: worlds.Phase
    since: float
    """When the present world was published, in seconds of the coordinator's clock."""
    step: int
    epoch: int
    metrics: Mapping[str, float]
    outcome: str
    message: str
    restarts: int
    history: history.History


@dataclass
class Job:
    """Feeds events to `worlds.on` in order, carries out its commands, keeps the history.

    All of it runs on one event loop; `dispatch` is atomic but for the recording of a number.
    """

    key: str
    limits: worlds.Limits
    record: Record
    clock: Callable[[], float]
    changed: Callable[[str], None]
    number: int = 0
    leads: Callable[[], bool] = lambda: True
    restarts: int = 0
    inspect_seconds: float = INSPECT_SECONDS
    sends: dict[str, Send] = field(default_factory=dict)
    uses_session: bool | None = None
    chapters: history.History = ()
    metrics: dict[str, float] = field(default_factory=dict)
    epoch: int = 0

    def __post_init__(self) -> None:
        self.state = worlds.start(
            self.limits, number=self.number, restarts=self.restarts, now=self.clock()
        )
        self.since = self.clock()
        self._recording = asyncio.Lock()
        self._inquiry: Inquiry | None = None
        self._log = logging.LoggerAdapter(logger, {"job": self.key})
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._arm()

    def dispatch(self, event: worlds.Event) -> None:
        """Take one event and carry out what follows from it.

        Who no longer leads takes none: what it has missed may make its answer a wrong one.
        """
        if not self.leads():
            return
        phase = self.state.phase
        self.state, commands = worlds.on(self.state, event, self.clock())
        for command in commands:
            self._carry_out(command)
        self._arm()
        if commands or self.state.phase is not phase:
            self.changed(self.key)

    def take_progress(self, message: protocol.Progress) -> None:
        if self.state.world is None or message.world != self.state.world.number:
            return
        self.chapters = history.progress(
            self.chapters,
            number=message.world,
            step=message.step,
            samples=message.samples,
            restored_step=message.restored_step,
            previous_step=message.previous_step,
            now=self.clock(),
        )
        self.epoch = message.epoch
        merged = {**self.metrics, **message.metrics}
        self.metrics = dict(list(merged.items())[-MAX_METRICS:])
        self.changed(self.key)

    def take_saved(self, checkpoint: worlds.Checkpoint) -> None:
        self.chapters = history.commit(self.chapters, checkpoint)
        self.dispatch(worlds.Saved(checkpoint=checkpoint))

    def stall(self, number: int, cause: str) -> None:
        """World `number` does no step any more: ask where its ranks are, then have it formed anew.

        Told again, or told of another world, it changes nothing.
        """
        world, asked = self.state.world, self._inquiry
        if world is None or world.number != number or self.state.phase is not worlds.Phase.RUNNING:
            return
        if asked is None or asked.world.number != number:
            self._inquiry = asked = Inquiry(world, cause)
            self._tell(world.ids, protocol.Inspect(world=number))
            loop = asyncio.get_running_loop()
            loop.call_later(self.inspect_seconds, self._conclude, asked)

    def take_inspected(self, pod: str, message: protocol.Inspected) -> None:
        asked = self._inquiry
        if asked is not None:
            asked.take(pod, message)
            if asked.is_complete:
                self._conclude(asked)

    def _conclude(self, asked: Inquiry) -> None:
        if self._inquiry is not asked:
            return
        self._inquiry = None
        for rank, stacks in asked.stacks().items():
            self._log.info("%s: rank %d hangs or waits in\n%s", self.key, rank, stacks)
        self.dispatch(worlds.Stalled(world=asked.world.number, message=asked.conclusion()))

    def report(self) -> JobReport:
        state, last = self.state, self.chapters[-1] if self.chapters else None
        trains = state.phase in (worlds.Phase.RUNNING, worlds.Phase.DRAINING)
        steps = [c.last_step for c in self.chapters if c.last_step is not None]
        return JobReport(
            number=last.number if last else state.number,
            size=state.world.size if state.world and trains else 0,
            phase=state.phase,
            since=self.since,
            step=steps[-1] if steps else 0,
            epoch=self.epoch,
            metrics=dict(self.metrics),
            outcome=state.outcome,
            message=state.message,
            restarts=state.restarts,
            history=self.chapters,
        )

    def cut(self, pod: str) -> None:
        """A member is gone, or replaced: close what connection it has, and say that it is lost."""
        send = self.sends.pop(pod, None)
        if send is not None:
            send(None)
        self.dispatch(worlds.Lost(id=pod))

    def dismiss(self, message: protocol.Refused | protocol.NotLeader) -> None:
        """The job is none of ours any more: tell every agent why, and hear no more of them."""
        farewell = protocol.encode(message)
        for send in self.sends.values():
            send(farewell)
            send(None)
        self.sends.clear()
        self.stop()

    def stop(self) -> None:
        self._inquiry = None
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()

    def _carry_out(self, command: worlds.Command) -> None:
        match command:
            case worlds.Record(number=number):
                task = asyncio.get_running_loop().create_task(self._record(number))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case worlds.Publish(world=world):
                self.since = self.clock()
                self.chapters = history.publish(self.chapters, world, self.since)
                self._log.info("%s: world %d of %d members", self.key, world.number, world.size)
                self._tell(world.ids, publication(world))
            case worlds.Adopted(world=world):
                self.since = self.clock()
                self.chapters = history.publish(self.chapters, world, self.since)
                self._log.info("%s: world %d trains on", self.key, world.number)
            case worlds.AskDrain(world=number, ids=ids, seconds=seconds, reason=reason):
                self._tell(ids, protocol.Drain(world=number, seconds=seconds, reason=reason))
            case worlds.Restart(world=number, ids=ids):
                self._tell(ids, protocol.Restart(world=number))
            case worlds.Release(world=number, ids=ids):
                self._tell(ids, protocol.Release(world=number))
            case worlds.AnswerCommit(id=id, checkpoint=checkpoint, accepted=accepted):
                answer = protocol.CommitAnswer(
                    world=checkpoint.world, step=checkpoint.step, accepted=accepted
                )
                self._tell((id,), answer)
            case worlds.Ended(world=number, reason=reason, message=message):
                self._log.info("%s: world %d ends: %s %s", self.key, number, reason, message)
                self.chapters = history.end(self.chapters, number, reason, self.clock(), message)
            case worlds.Close(outcome=outcome, message=message):
                self._log.info("%s: %s: %s", self.key, outcome, message)
                self._tell(tuple(self.sends), protocol.Closed(outcome=outcome, message=message))

    async def _record(self, number: int) -> None:
        """Until it succeeds: without a durable number no world can be published."""
        pause = 0.1
        async with self._recording:  # in order, or an older number could overwrite a newer one
            while number == self.state.number:
                try:
                    await self.record(self.key, number)
                    break
                except Exception as error:
                    self._log.error("%s: world %d is not recorded: %s", self.key, number, error)
                    await asyncio.sleep(pause)
                    pause = min(5.0, 2 * pause)
        self.dispatch(worlds.Recorded(number=number))

    def _tell(self, ids: tuple[str, ...], message: protocol.FromCoordinator) -> None:
        text = protocol.encode(message)
        for id in ids:
            if id in self.sends:  # who has just gone is about to be reported as lost
                self.sends[id](text)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = worlds.next_deadline(self.state)
        if due is not None:
            # A millisecond late rather than early: an early tick would change nothing and repeat.
            delay = max(0.0, due - self.clock()) + 0.001
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, self.dispatch, worlds.Tick())


def publication(world: worlds.World) -> protocol.NewWorld:
    seats = tuple(
        protocol.SeatInfo(id=seat.id, address=seat.address, ranks=seat.ranks)
        for seat in world.seats
    )
    restore = None
    if world.restore is not None:
        restore = protocol.CheckpointInfo(world=world.restore.world, step=world.restore.step)
    return protocol.NewWorld(
        number=world.number, seats=seats, store_port=world.store_port, restore=restore
    )


def claim_of(message: protocol.NewWorld) -> worlds.World:
    seats = tuple(
        worlds.Seat(id=seat.id, address=seat.address, ranks=seat.ranks) for seat in message.seats
    )
    restore = None
    if message.restore is not None:
        restore = worlds.Checkpoint(message.restore.world, message.restore.step)
    return worlds.World(
        number=message.number, seats=seats, store_port=message.store_port, restore=restore
    )
