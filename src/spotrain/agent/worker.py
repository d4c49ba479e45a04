"""The moves of an agent, told apart by the stage it is in (`stages` has the picture).

Nothing here waits for events or reads a clock of its own: `loop` brings the events one by one,
and `ranks` and `send` act.
"""

import logging

from torch.distributed.elastic.agent.server.api import RunResult, WorkerState

from spotrain.agent.failures import Failure, explain, explain_errors
from spotrain.agent.local_ranks import assignment
from spotrain.agent.notices import Left
from spotrain.agent.processes import Place
from spotrain.agent.stages import Stage, Stages
from spotrain.agent.ways import Way
from spotrain.coordinator import protocol
from spotrain.worlds import Cause

logger = logging.getLogger(__name__)

LEAVE_SECONDS = 5.0
"""A rank that has not left a broken world by then (a hung collective) is started anew."""
LOSS_TERM_SECONDS = 0.5
"""After a loss a plain script's ranks, and those of an agent that leaves, get this long between
SIGTERM and SIGKILL: enough to end a write that has begun. One that catches the signal mostly waits
for the lost peer, and would use up any time."""
CLOSE_SECONDS = 0.05
"""After a failure: if that was the last restart allowed, the job closes within this time."""
LAST_MESSAGES_SECONDS = 1.0
"""Maximum time between a rank's exit and its last message. A child of the rank may hold the channel
open, so the end of the channel alone is not waited for."""
MAX_EARLY_FAILURES = 3
"""Starts in a row whose ranks end before they enter any world; then the worker fails."""


class Worker(Stages):
    """One agent of a job. `result` is set once there is nothing left to do."""

    result: RunResult | None = None
    _early_failures = 0
    _failure: RunResult | None = None
    _ended: RunResult | None = None
    """How the ranks ended, while their last messages are being received."""
    _exited_since: float | None = None

    # --- Asked by the coordinator ---

    def connected(self, uses_session: bool | None) -> None:
        """Say what the hello did not say, or may have said too early."""
        if self.uses_session is None:
            self.uses_session = uses_session
        seconds = self._departure.seconds_left(self._clock())
        if seconds is not None:
            self.reports.leaving(seconds)
        self.reports.repeat()
        self._announce_stage()

    def enter(self, world: protocol.NewWorld) -> None:
        if self.me.pod not in [seat.id for seat in world.seats] or self._departure.is_announced:
            return
        self.world, self.stage, self._awaits_imports = world, Stage.TRAINING, False
        self.reports.begin_world(world.number)
        if world.seats[0].id == self.me.pod:
            self._stores.host_world()
        size = sum(seat.ranks for seat in world.seats)
        logger.info("world %d: %d ranks of %d workers", world.number, size, len(world.seats))
        self.ranks.begin_world()
        if self.ranks.running:
            self.ranks.assign_all(world, self.me.pod)
        else:
            first = assignment(world, self.me.pod, local_rank=0, count=self.ranks.count)
            self.ranks.start(Place.of(first))

    def drain(self, number: int, seconds: float) -> None:
        """A planned stop. A plain script may save on SIGTERM; what it does not save is lost to it.

        Ranks that have not spoken yet have trained nothing through the library: they are
        treated as a plain script's, and lose no work either way.
        """
        if not self._trains_in(number):
            return
        if self.uses_session:
            self.ranks.ask_drain(number)
            return
        logger.info(
            "world %d is left as planned; errors of its process group around this line are "
            "expected, as some ranks see their peers go first",
            number,
        )
        self.ranks.stop_with_peers(seconds=min(seconds, self.ranks.shutdown_seconds))
        self._say_drained()
        self._idle()

    def inspect(self, number: int) -> None:
        if self._trains_in(number):
            self.ranks.tell_where_they_are(number, self.reports.send)

    def leave_world(self, number: int) -> None:
        """After a loss: the survivors get ready at once, whatever their collectives wait for.

        Raises:
            Left: on a notice; its ranks have ended by then, for the others wait until they have.
        """
        if self.stage is Stage.FINISHED and self.world and self.world.number == number:
            self._rejoin()
            return
        if not self._trains_in(number):
            return
        if self._departure.is_announced:
            self.ranks.stop(seconds=LOSS_TERM_SECONDS)
            raise Left
        if not self.uses_session:
            self.ranks.stop(seconds=LOSS_TERM_SECONDS)
            self._report_errors()
            self._idle()
            return
        if Way.CALL_AGAIN not in self._ways and self.ranks.has_entered:
            self._start_anew()
            return
        self.ranks.ask_leave(number)
        if self.ranks.has_entered:
            self.stage, self._leave_by = Stage.LEAVING, self._clock() + LEAVE_SECONDS
        else:  # its ranks are still importing: they have nothing to leave
            self.stage = Stage.STARTING
            self.reports.starting()
        self._get_ready_if_all_arrived()

    def _rejoin(self) -> None:
        """Other members did not finish: start the ranks again for the next world.

        Raises:
            Left: on a notice.
        """
        if self._departure.is_announced:
            raise Left
        self._idle()

    def _report_errors(self) -> None:
        """Report the exception that is about to end a rank, before the rank is ended anyway."""
        failure = explain_errors(self.ranks.reported_errors())
        if failure is not None:
            logger.error("%s", failure.message)
            self.reports.failed(failure.message, hard=True, cause=failure.cause)

    def release(self) -> None:
        if self._departure.is_announced:
            raise Left

    def close(self, outcome: str, text: str) -> None:
        logger.info("the job %s: %s", outcome, text)
        self.stop()
        self.give_up()
        if outcome == "succeeded":
            self.result = self.ranks.success()

    def give_up(self) -> None:
        self.result = self._failure or RunResult(state=WorkerState.FAILED)

    # --- Told by the ranks ---

    def arrived(self, local_rank: int, *, survivor: bool, floor: int) -> None:
        if not self.uses_session:
            self.uses_session = True
            self.reports.uses_session()
        self.ranks.wait_for_world(local_rank, survivor=survivor)
        self._floor = max(self._floor, floor)
        if self.stage is not Stage.TRAINING or survivor or self.world is None:
            self._get_ready_if_all_arrived()
        elif floor < self.world.number:
            self.ranks.assign(self.world, self.me.pod, local_rank)
        else:  # started with a world that has not begun, yet its number is in the output already
            self.reports.floor_found(floor)

    def drained(self, local_rank: int, number: int) -> None:
        self.ranks.left_world(local_rank)
        if not self.ranks.anyone_inside and self._trains_in(number):
            self._say_drained()
            lives_on = self._ways & {Way.IN_PLACE, Way.CALL_AGAIN}
            if not lives_on and not self._departure.is_announced:
                self._start_anew()

    def broken(self, local_rank: int, number: int, *, message: str, excused: bool) -> None:
        self.ranks.left_world(local_rank)
        if self._trains_in(number) and self.stage is Stage.TRAINING:
            self.reports.failed(message, hard=False, excused=excused)
            if Way.CALL_AGAIN not in self._ways:
                self._start_anew()

    def deserted(self, number: int, *, rank: int, step: int) -> None:
        """A local rank waits in a collective call for one that has returned from training."""
        if self._trains_in(number) and self.stage is Stage.TRAINING:
            message = f"rank {rank} returned from train after step {step}, the others train on"
            self.reports.failed(message, hard=False, cause=Cause.DESERTED)

    def training_returned(self, local_rank: int) -> None:
        if self.ranks.trained(local_rank):
            self.reports.trained()

    def progressed(self) -> None:
        self._early_failures = 0

    # --- Seen by itself: signals, time and processes ---

    def notice(self) -> None:
        if self._departure.is_announced:
            return
        logger.warning("notice: leaving within %.0f s, saving first", self.me.grace_seconds)
        self._departure.announce(self._clock())
        if self.stage is Stage.FINISHED:
            return  # the job usually closes within the notice; there is nothing left to save
        self.reports.leaving(self.me.grace_seconds)
        if self.stage is not Stage.TRAINING:
            raise Left

    def watch(self) -> None:
        """Look at the time and at the processes.

        Raises:
            Left: a notice has been dealt with, or runs out.
        """
        now = self._clock()
        self._traffic.tell(now)
        if self._departure.is_released(now):
            raise Left
        if self._departure.is_late(now):
            logger.error("the notice runs out before the world could stop; leaving as it is")
            raise Left
        if self._leave_by is not None and now >= self._leave_by:
            number = self.world.number if self.world else 0
            logger.warning(
                "world %d: ranks did not leave within %g s; restarting them", number, LEAVE_SECONDS
            )
            self._report_errors()
            self._start_anew()
        if self._announce_at is not None and now >= self._announce_at:
            self._announce_stage()
        if self._awaits_imports and not self.ranks.is_importing:
            self._announce_stage()
        self._watch_ranks(now)

    def _watch_ranks(self, now: float) -> None:
        """Find out how ranks ended. An exit with 0 counts once the rank's messages are read: it is
        a failure unless training had returned before."""
        if self._ended is None:
            self._ended = self.ranks.poll()
        in_world = self.stage in (Stage.TRAINING, Stage.LEAVING)
        early = self.ranks.left_early if self.uses_session and in_world else set()
        if self._ended is not None and self._ended.state is not WorkerState.SUCCEEDED:
            early = set()
        if self._ended is None and not early:
            return
        if early and self._may_have_more_messages(now):
            return
        ended, self._ended, self._exited_since = self._ended, None, None
        if early:
            self._left_early(min(early))
        elif ended is not None:
            self._ranks_ended(ended)

    def _may_have_more_messages(self, now: float) -> bool:
        if self._exited_since is None:
            self._exited_since = now
        return not self.ranks.are_messages_read and now < self._exited_since + LAST_MESSAGES_SECONDS

    def _left_early(self, local_rank: int) -> None:
        message = f"local rank {local_rank} exited with code 0 before elastic.run had returned"
        self.ranks.stop(seconds=LOSS_TERM_SECONDS)
        failure = Failure(message, Cause.DESERTED)
        self._fail(RunResult(state=WorkerState.FAILED), failure, in_world=True)

    def stop(self) -> None:
        self.ranks.stop(seconds=self.ranks.shutdown_seconds)

    def _ranks_ended(self, result: RunResult) -> None:
        in_world = self.stage in (Stage.TRAINING, Stage.LEAVING)
        if result.state is WorkerState.SUCCEEDED and in_world:
            was_left = self.stage is Stage.LEAVING
            self.stage, self._leave_by = Stage.FINISHED, None
            self._traffic.tell(self._clock(), last=True)
            self.reports.finished()
            if was_left:
                self._rejoin()
            return
        if self._departure.is_announced:
            self._failure = result
            raise Left
        self._fail(result, explain(result), in_world=in_world)

    def _fail(self, result: RunResult, failure: Failure, *, in_world: bool) -> None:
        self._failure = result
        logger.error("%s", failure.message)
        if in_world:
            self.reports.failed(failure.message, hard=True, cause=failure.cause)
        else:
            self.reports.starting()
        if not self.ranks.has_entered:
            self._early_failures += 1
            if self._early_failures > MAX_EARLY_FAILURES and self.uses_session:
                self.result = RunResult(WorkerState.FAILED, failures=result.failures)
                return
        self.stage, self._leave_by = Stage.IDLE, None
        self._announce_at = self._clock() + CLOSE_SECONDS
