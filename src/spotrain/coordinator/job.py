"""One job at the coordinator: its state machine, its connections and its history."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.inquiry import INSPECT_SECONDS, Inquiry
from spotrain.coordinator.outbox import Outbox
from spotrain.coordinator.report import JobReport, Traffic, newest_metrics
from spotrain.coordinator.wording import joined, publication
from spotrain.worlds import history

logger = logging.getLogger(__name__)

Record = Callable[[str, int], Awaitable[None]]
"""Makes a job's world number durable before the world is published."""


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
    outboxes: dict[str, Outbox] = field(default_factory=dict)
    """By pod: the connected agents."""
    uses_session: bool | None = None
    chapters: history.History = ()
    metrics: dict[str, float] = field(default_factory=dict)
    epoch: int = 0
    steps_in_all: int | None = None
    """Of the whole training, as it was last told; None: it was not."""
    traffic: dict[str, Traffic] = field(default_factory=dict)
    """By pod, gone ones too: a job's pods have few names, which come back."""

    def __post_init__(self) -> None:
        self.state = worlds.start(
            self.limits, number=self.number, restarts=self.restarts, now=self.clock()
        )
        self.since = self.clock()
        self._recording = asyncio.Lock()
        self._inquiry: Inquiry | None = None
        self._returned: protocol.Returned | None = None
        """The least advanced rank that has returned from training in its world."""
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

    def welcome(self, hello: protocol.Hello, outbox: Outbox) -> None:
        """Take an agent in that may join, with all that its hello says."""
        if hello.pod in self.outboxes:  # a second connection of the same pod: the first is dead
            self.cut(hello.pod)
        if hello.uses_session is not None:
            self.uses_session = hello.uses_session
        self.outboxes[hello.pod] = outbox
        welcome = protocol.Welcome(version=hello.version, uses_session=self.uses_session)
        outbox.put(protocol.encode(welcome))
        if self._returned is not None:  # of an older world it is ignored
            outbox.put(protocol.encode(protocol.PeerReturned(**asdict(self._returned))))
        self.dispatch(joined(hello))
        if hello.leaving_seconds is not None:
            self.dispatch(worlds.Leaving(id=hello.pod, seconds=hello.leaving_seconds))

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
            save_stall_seconds=message.save_stall_seconds,
            data_wait_seconds=message.data_wait_seconds,
        )
        self.epoch = message.epoch
        left = message.steps_left
        self.steps_in_all = None if left is None else message.step + left
        self.metrics = newest_metrics(self.metrics, message.metrics)
        self.changed(self.key)

    def take_returned(self, pod: str, message: protocol.Returned) -> None:
        """Forward it to all members, whose next collective call would wait for this rank.

        Ranks usually return together: only one that is behind the others is worth a message.
        """
        world, first = self.state.world, self._returned
        if world is None or message.world != world.number or pod not in world.ids:
            return
        if first is None or first.world != message.world or _place(message) < _place(first):
            self._returned = message
            self._tell(world.ids, protocol.PeerReturned(**asdict(message)))

    def take_traffic(self, pod: str, message: protocol.Traffic) -> None:
        """It is told with what changes anyway; nothing has to be done about it."""
        self.traffic[pod] = Traffic(
            read_bytes=max(0, message.read_bytes),
            written_bytes=max(0, message.written_bytes),
            told_at=self.clock(),
        )

    def take_saved(self, checkpoint: worlds.Checkpoint) -> None:
        self.chapters = history.commit(self.chapters, checkpoint, self.clock())
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
        return JobReport.of(
            self.state,
            self.chapters,
            since=self.since,
            epoch=self.epoch,
            steps_in_all=self.steps_in_all,
            metrics=self.metrics,
            traffic=self.traffic,
            uses_session=bool(self.uses_session),
        )

    def cut(self, pod: str) -> None:
        """A member is gone, or replaced: close what connection it has, and say that it is lost."""
        outbox = self.outboxes.pop(pod, None)
        if outbox is not None:
            outbox.close()
        self.dispatch(worlds.Lost(id=pod))

    def start_over(self) -> None:
        """Forget who is there, as after a restart: all come back and say where they stand.

        After a standstill of this process their connections have ended for no fault of theirs.
        """
        if self.state.phase is worlds.Phase.CLOSED:
            return
        self.stop()
        state = self.state
        self.state = worlds.start(
            state.limits, number=state.number, restarts=state.restarts, now=self.clock()
        )
        self._arm()

    def dismiss(self, message: protocol.Refused | protocol.NotLeader) -> None:
        """The job is none of ours any more: tell every agent why, and hear no more of them."""
        farewell = protocol.encode(message)
        for outbox in self.outboxes.values():
            outbox.put(farewell)
        self.stop()

    def stop(self) -> None:
        """Await nothing any more, and let every agent go."""
        self._inquiry = None
        for outbox in self.outboxes.values():
            outbox.close()
        self.outboxes.clear()
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
                self._answer(id, checkpoint, accepted)
            case worlds.Ended(world=number, reason=reason, message=message):
                self._log.info("%s: world %d ends: %s %s", self.key, number, reason, message)
                self.chapters = history.end(self.chapters, number, reason, self.clock(), message)
            case worlds.Close(outcome=outcome, message=message):
                self._log.info("%s: %s: %s", self.key, outcome, message)
                self._tell(tuple(self.outboxes), protocol.Closed(outcome=outcome, message=message))

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

    def _answer(self, pod: str, checkpoint: worlds.Checkpoint, accepted: bool | None) -> None:
        outbox = self.outboxes.get(pod)
        if accepted is None and outbox is not None and outbox.version < 2:
            return  # it knows no such answer; it asks again when none has come
        answer = protocol.CommitAnswer(
            world=checkpoint.world, step=checkpoint.step, accepted=accepted
        )
        self._tell((pod,), answer)

    def _tell(self, ids: tuple[str, ...], message: protocol.FromCoordinator) -> None:
        text = protocol.encode(message)
        for id in ids:
            if id in self.outboxes:  # who has just gone is about to be reported as lost
                self.outboxes[id].put(text)

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


def _place(message: protocol.Returned) -> tuple[int, int]:
    return message.step, message.collectives
