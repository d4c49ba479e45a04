"""What an agent does: ranks, coordinator and signals, told apart by the stage it is in.

    idle ─ start ─► starting ─ all ranks arrived ─► waiting ─ world ─► training ─► finished
      └────────────────────────── world ──────────────────────────────►  │ │
                                    waiting ◄── drained, arrived ────────┘ │ loss: leave the world
                                    waiting ◄── arrived ──── leaving ◄─────┘ (too slow: start anew)

Scripts that use the training library are started ahead of their world and re-form in place;
others are started with their world and restarted for the next one. Everything happens on one
thread, which takes events from one inbox; other threads only put events into it.
"""

import logging
import queue
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.distributed.elastic.agent.server.api import RunResult, WorkerState

from spotrain.agent.control import RankMessage
from spotrain.agent.local_ranks import LocalRanks, assignment
from spotrain.agent.processes import Place, Ranks
from spotrain.agent.store import open_store
from spotrain.coordinator import protocol

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
LEAVE_SECONDS = 5.0
"""A rank that has not left a broken world by then (a hung collective) is started anew."""
LOSS_TERM_SECONDS = 2.0
"""After a loss a plain script's ranks get this long between SIGTERM and SIGKILL."""
RELEASE_SECONDS = 2.0
"""A drained worker on notice waits this long for its release, then leaves by itself."""
PLAIN_SECONDS = 15.0
"""Ranks that have not spoken by then run a plain script; before, they may just be importing."""
MAX_EARLY_FAILURES = 3
"""Starts in a row whose ranks end before they enter any world; then the worker fails."""


class Stage(StrEnum):
    IDLE = "idle"
    STARTING = "starting"
    WAITING = "waiting"
    TRAINING = "training"
    LEAVING = "leaving"
    FINISHED = "finished"


@dataclass(frozen=True)
class Notice:
    """SIGTERM, or Ctrl-C: this worker is to stop, and to save what it has done."""


class Left(Exception):
    """Ends the loop: the worker left after a notice."""


Send = Callable[[protocol.FromAgent], bool]
InboxItem = protocol.FromCoordinator | RankMessage | Notice


class Worker:
    """The loop of one agent. `run` is handed to `Ranks` and returns torch's result."""

    def __init__(
        self, *, job: str, pod: str, address: str, grace_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.job, self.pod, self.address = job, pod, address
        self.grace_seconds = grace_seconds
        self.clock = clock
        # A simple queue, because the signal handler may put while this thread is about to get.
        self.inbox: queue.SimpleQueue[InboxItem] = queue.SimpleQueue()
        self.send: Send = lambda message: False
        self.stage = Stage.IDLE
        self.world: protocol.NewWorld | None = None
        self.uses_session: bool | None = None
        self._ranks: LocalRanks
        self._floor = 0
        """The newest world that the ranks have found in their output."""
        self._saved: protocol.Saved | None = None
        self._first_progress: protocol.Progress | None = None
        self._commits: dict[tuple[int, int], int] = {}
        self._next_store: TCPStore | None = open_store(address)
        self._used_store: object = None
        self._notice_by: float | None = None
        self._leave_by: float | None = None
        self._released_by: float | None = None
        self._started_at = 0.0
        self._drain_plain: tuple[int, float, float] | None = None
        """(world, when, seconds) of a drain that waits to see whether the script will speak."""
        self._early_failures = 0
        self._failure: RunResult | None = None
        self._result: RunResult | None = None

    def attach(self, processes: Ranks, send: Send) -> None:
        """Connect the loop to what it moves: the local processes, and the coordinator."""
        self._ranks = LocalRanks(processes, self.inbox.put)
        self.send = send

    def hello(self) -> protocol.Hello:
        """Called by the connection's thread; reads single fields only."""
        is_in_world = self.stage in (Stage.TRAINING, Stage.LEAVING, Stage.FINISHED)
        notice_by = self._notice_by
        return protocol.Hello(
            version=protocol.VERSION,
            job=self.job,
            pod=self.pod,
            address=self.address,
            ranks=self._ranks.count,
            uses_session=self.uses_session,
            world=self.world,
            left=not is_in_world,
            finished=self.stage is Stage.FINISHED,
            leaving_seconds=None if notice_by is None else max(0.0, notice_by - self.clock()),
        )

    def run(self, ranks: Ranks) -> RunResult:
        """Until the job is closed or this worker leaves.

        Raises:
            Left: after a notice.
        """
        try:
            while self._result is None:
                self._take_next()
                self._watch_deadlines()
                self._watch_processes()
            return self._result
        finally:
            self._ranks.stop(seconds=ranks.shutdown_seconds)

    def _take_next(self) -> None:
        try:
            item = self.inbox.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return
        match item:
            case RankMessage():
                if self._ranks.is_current(item):
                    self._take_rank(item)
            case Notice():
                self._take_notice()
            case _:
                self._take_coordinator(item)

    # --- From the coordinator ---

    def _take_coordinator(self, message: protocol.FromCoordinator) -> None:
        match message:
            case protocol.Welcome(uses_session=uses_session):
                logger.info("connected as %s", self.pod)
                if self.uses_session is None:
                    self.uses_session = uses_session
                self._announce()
            case protocol.NewWorld():
                self._enter(message)
            case protocol.Drain(world=number, seconds=seconds):
                if self._trains_in(number):
                    self._drain(number, seconds)
            case protocol.Inspect(world=number):
                if self._trains_in(number):
                    self._ranks.tell_where_they_are(number, self.send)
            case protocol.Restart(world=number):
                if self._trains_in(number):
                    self._leave_world(number)
            case protocol.Release():
                if self._notice_by is not None:
                    raise Left
            case protocol.CommitAnswer(world=world, step=step, accepted=accepted):
                local_rank = self._commits.pop((world, step), None)
                if local_rank is not None:
                    self._ranks.answer(local_rank, world=world, step=step, accepted=accepted)
            case protocol.Closed(outcome=outcome, message=text):
                self._close(outcome, text)
            case protocol.Refused(reason=reason, final=final):
                logger.error("the coordinator refuses this worker: %s", reason)
                if final:
                    self._result = self._failure or RunResult(state=WorkerState.FAILED)

    def _announce(self) -> None:
        """After every (re)connection: what the hello did not say, or may have said too early."""
        if self._notice_by is not None:
            self.send(protocol.Leaving(seconds=max(0.0, self._notice_by - self.clock())))
        for message in (self._saved, self._first_progress):
            if message is not None:
                self.send(message)
        self._announce_stage()

    def _announce_stage(self) -> None:
        match self.stage:
            case Stage.IDLE if self.uses_session:
                self._start_ahead()
            case Stage.IDLE:
                self._say_ready(survivor=False)
            case Stage.STARTING:
                self.send(protocol.Starting(world=self._world_number))
            case Stage.WAITING:
                self._say_ready(survivor=self._ranks.all_survived)
            case Stage.FINISHED if self.world is not None:
                self.send(protocol.Finished(world=self.world.number))
            case _:
                pass

    def _trains_in(self, number: int) -> bool:
        in_world = self.stage in (Stage.TRAINING, Stage.LEAVING)
        return in_world and self.world is not None and self.world.number == number

    def _enter(self, world: protocol.NewWorld) -> None:
        if self.pod not in [seat.id for seat in world.seats] or self._notice_by is not None:
            return
        self.world, self.stage = world, Stage.TRAINING
        self._first_progress = None
        self._commits.clear()
        self._drain_plain = None
        if world.seats[0].id == self.pod:
            self._used_store, self._next_store = self._next_store, None
        ranks = sum(seat.ranks for seat in world.seats)
        logger.info("world %d: %d ranks of %d workers", world.number, ranks, len(world.seats))
        self._ranks.begin_world()
        if self._ranks.running:
            self._ranks.assign_all(world, self.pod)
        else:
            first = assignment(world, self.pod, local_rank=0, count=self._ranks.count)
            self._started_at = self.clock()
            self._ranks.start(Place.of(first))

    def _drain(self, number: int, seconds: float) -> None:
        now = self.clock()
        if self.uses_session:
            self._ranks.ask_drain(number)
        elif self.uses_session is None and now < self._started_at + PLAIN_SECONDS:
            wait = min(self._started_at + PLAIN_SECONDS - now, 0.25 * seconds)
            self._drain_plain = (number, now + wait, seconds - wait)
        else:
            self._drain_by_signal(number, seconds)

    def _drain_by_signal(self, number: int, seconds: float) -> None:
        """A plain script may save on SIGTERM; what it does not save by then is lost to it."""
        self._ranks.stop(seconds=min(seconds, self._ranks.shutdown_seconds))
        self._say_drained(number)
        self._idle()

    def _leave_world(self, number: int) -> None:
        """After a loss: the survivors get ready at once, whatever their collectives wait for."""
        if self._notice_by is not None:
            raise Left
        if not self.uses_session:
            self._ranks.stop(seconds=LOSS_TERM_SECONDS)
            self._idle()
            return
        self._ranks.ask_leave(number)
        if self._ranks.has_entered:
            self.stage, self._leave_by = Stage.LEAVING, self.clock() + LEAVE_SECONDS
        else:  # its ranks are still importing: they have nothing to leave
            self.stage = Stage.STARTING
            self.send(protocol.Starting(world=self._world_number))
        self._get_ready_if_all_arrived()

    def _close(self, outcome: str, text: str) -> None:
        logger.info("the job %s: %s", outcome, text)
        self._ranks.stop(seconds=self._ranks.shutdown_seconds)
        failed = self._failure or RunResult(state=WorkerState.FAILED)
        self._result = self._ranks.success() if outcome == "succeeded" else failed

    # --- From the ranks ---

    def _take_rank(self, message: RankMessage) -> None:
        fields = message.fields
        match message.kind:
            case "arrive":
                self._arrive(message.local_rank, fields["survivor"], fields["floor"])
            case "drained":
                self._ranks.left_world(message.local_rank)
                if not self._ranks.anyone_inside and self._trains_in(fields["world"]):
                    self._say_drained(fields["world"])
            case "broken":
                self._ranks.left_world(message.local_rank)
                if self._trains_in(fields["world"]) and self.stage is Stage.TRAINING:
                    self._fail(hard=False, message=fields["message"], excused=fields["excused"])
            case "commit":
                self._ask_commit(message.local_rank, fields["world"], fields["step"])
            case "saved":
                self._saved = protocol.Saved(world=fields["world"], step=fields["step"])
                self.send(self._saved)
            case "progress":
                self._early_failures = 0
                progress = protocol.Progress(**fields)
                if progress.restored_step is not None:
                    self._first_progress = progress
                self.send(progress)

    def _ask_commit(self, local_rank: int, world: int, step: int) -> None:
        self._commits[world, step] = local_rank
        if not self.send(protocol.Commit(world=world, step=step)):
            del self._commits[world, step]  # the rank is told at once, and does not wait in vain
            self._ranks.answer(local_rank, world=world, step=step, accepted=None)

    def _arrive(self, local_rank: int, survivor: bool, floor: int) -> None:
        if not self.uses_session:
            self.uses_session = True
            self.send(protocol.UsesSession(value=True))
            if self._drain_plain is not None:
                self._ranks.ask_drain(self._drain_plain[0])
                self._drain_plain = None
        self._ranks.wait_for_world(local_rank, survivor=survivor)
        self._floor = max(self._floor, floor)
        if self.stage is not Stage.TRAINING or survivor or self.world is None:
            self._get_ready_if_all_arrived()
        elif floor < self.world.number:
            self._ranks.assign(self.world, self.pod, local_rank)
        else:  # started with a world that has not begun, yet its number is in the output already
            self.send(protocol.FloorFound(number=floor))

    def _get_ready_if_all_arrived(self) -> None:
        if not self._ranks.all_wait:
            return
        if self.stage is Stage.TRAINING and not self._ranks.all_survived:
            return  # started with a world below the floor: the coordinator is about to end it
        self.stage, self._leave_by = Stage.WAITING, None
        self._say_ready(survivor=self._ranks.all_survived)

    # --- Time and processes ---

    def _watch_deadlines(self) -> None:
        now = self.clock()
        if self._released_by is not None and now >= self._released_by:
            raise Left
        if self._notice_by is not None and now >= self._notice_by - 0.1 * self.grace_seconds:
            logger.error("the notice runs out before the world could stop; leaving as it is")
            raise Left
        if self._drain_plain is not None and now >= self._drain_plain[1]:
            number, _, seconds = self._drain_plain
            self._drain_plain = None
            if self._trains_in(number):
                self._drain_by_signal(number, seconds)
        if self._leave_by is not None and now >= self._leave_by:
            logger.warning("ranks hang in a broken world; starting them anew")
            self._ranks.stop(seconds=0, sign=signal.SIGKILL)
            self._start_ahead()

    def _watch_processes(self) -> None:
        result = self._ranks.poll()
        if result is None:
            return
        in_world = self.stage in (Stage.TRAINING, Stage.LEAVING)
        if result.state is WorkerState.SUCCEEDED and in_world:
            assert self.world is not None
            self.stage, self._leave_by = Stage.FINISHED, None
            self.send(protocol.Finished(world=self.world.number))
            return
        self._failure = result
        if self._notice_by is not None:
            raise Left
        self._recover_from_exit(result)

    def _recover_from_exit(self, result: RunResult) -> None:
        message = describe(result)
        logger.error("%s", message)
        if self.stage in (Stage.TRAINING, Stage.LEAVING):
            self._fail(hard=True, message=message)
        else:
            self.send(protocol.Starting(world=self._world_number))
        if not self._ranks.has_entered:
            self._early_failures += 1
            if self._early_failures > MAX_EARLY_FAILURES and self.uses_session:
                self._result = RunResult(WorkerState.FAILED, failures=result.failures)
                return
        self.stage = Stage.IDLE
        time.sleep(POLL_SECONDS)  # if that was the last restart allowed, the job closes now
        if not self.inbox.empty():
            self._take_next()
        if self._result is None and self.stage is Stage.IDLE:
            self._announce_stage()

    def _start_ahead(self) -> None:
        """Start the ranks before there is a world, so that the others train while they import."""
        self.stage, self._leave_by = Stage.STARTING, None
        self.send(protocol.Starting(world=self._world_number))
        self._ranks.start(None)

    def _idle(self) -> None:
        self.stage = Stage.IDLE
        if self._notice_by is None:
            self._announce_stage()

    # --- Notices and messages ---

    def _take_notice(self) -> None:
        if self._notice_by is not None:
            return
        logger.warning("notice: leaving within %.0f s, saving first", self.grace_seconds)
        if self.stage is Stage.FINISHED:
            return  # the job is about to close; there is nothing left to save
        self._notice_by = self.clock() + self.grace_seconds
        self.send(protocol.Leaving(seconds=self.grace_seconds))
        if self.stage is not Stage.TRAINING:
            raise Left

    def _say_ready(self, *, survivor: bool) -> None:
        if self._notice_by is not None:
            return
        if self._next_store is None:
            self._next_store = open_store(self.address)
        self.send(
            protocol.Ready(
                port=self._next_store.port,
                survivor=survivor,
                world=self._world_number,
                floor=self._floor,
            )
        )

    def _say_drained(self, number: int) -> None:
        self.send(protocol.Drained(world=number))
        if self._notice_by is not None:
            self._released_by = self.clock() + RELEASE_SECONDS

    def _fail(self, *, hard: bool, message: str, excused: bool = False) -> None:
        number = self._world_number
        self.send(protocol.Failed(world=number, hard=hard, message=message, excused=excused))

    @property
    def _world_number(self) -> int:
        return self.world.number if self.world is not None else 0


def describe(result: RunResult) -> str:
    """The first failure of the local ranks in one line."""
    if not result.failures:
        return "the ranks ended without having trained"
    failure = min(result.failures.values(), key=lambda failure: failure.timestamp)
    how = f"signal {failure.signal_name()}" if failure.exitcode < 0 else f"code {failure.exitcode}"
    told = _told_in(failure.error_file_data)
    return f"local rank {failure.local_rank} (pid {failure.pid}) ended with {how}{told}"


def _told_in(error_file: Mapping[str, Any]) -> str:
    """The last line of what the rank wrote down about its end; "" if it wrote nothing."""
    message = error_file.get("message")
    text = message.get("message") if isinstance(message, dict) else None
    return f": {str(text).strip().splitlines()[-1][:300]}" if text else ""
