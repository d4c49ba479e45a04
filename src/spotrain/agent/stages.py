"""The stages of an agent.

    idle ─ start ─► starting ─ all ranks arrived ─► waiting ─ world ─► training ─► finished
      └────────────────────────── world ──────────────────────────────►  │ │
                                    waiting ◄── drained, arrived ────────┘ │ loss: leave the world
                                    waiting ◄── arrived ──── leaving ◄─────┘ (too slow: start anew)

Scripts that use the training library are started ahead of their world and re-form in place;
others are started with their world and restarted for the next one. Either way a newcomer has
imported what it can before it says that it is ready.
"""

from collections.abc import Callable
from enum import StrEnum

from spotrain.agent.environment import Identity
from spotrain.agent.local_ranks import LocalRanks
from spotrain.agent.notices import Departure
from spotrain.agent.reports import Reports, Send
from spotrain.agent.store import Stores
from spotrain.agent.traffic import Read, Traffic, read_count
from spotrain.agent.ways import Way
from spotrain.coordinator import protocol


class Stage(StrEnum):
    IDLE = "idle"
    STARTING = "starting"
    WAITING = "waiting"
    TRAINING = "training"
    LEAVING = "leaving"
    FINISHED = "finished"


class Stages:
    """Where an agent stands, and the moves that `worker` makes from one stage to another."""

    def __init__(
        self,
        me: Identity,
        ranks: LocalRanks,
        send: Send,
        *,
        clock: Callable[[], float],
        ways: frozenset[Way] = frozenset(Way),
        read_traffic: Read = read_count,
    ) -> None:
        self.me = me
        self.ranks = ranks
        self.reports = Reports(ranks, send)
        self._traffic = Traffic(send, read_traffic)
        self.stage = Stage.IDLE
        self.world: protocol.NewWorld | None = None
        self.uses_session: bool | None = None
        self._clock = clock
        self._ways = ways
        self._stores = Stores(me.address)
        self._departure = Departure(me.grace_seconds)
        self._floor = 0
        """The newest world that the ranks have found in their output."""
        self._leave_by: float | None = None
        self._announce_at: float | None = None
        self._awaits_imports = False
        """Nothing was announced yet, for the others would stop training and wait for imports."""

    def hello(self) -> protocol.Hello:
        """Called by the connection's thread; reads single fields only."""
        is_in_world = self.stage in (Stage.TRAINING, Stage.LEAVING, Stage.FINISHED)
        return protocol.Hello(
            version=protocol.VERSION,
            job=self.me.job,
            pod=self.me.pod,
            address=self.me.address,
            ranks=self.ranks.count,
            uses_session=self.uses_session,
            world=self.world,
            left=not is_in_world,
            finished=self.stage is Stage.FINISHED,
            leaving_seconds=self._departure.seconds_left(self._clock()),
        )

    def _announce_stage(self) -> None:
        self._announce_at, self._awaits_imports = None, False
        match self.stage:
            case Stage.IDLE if self.uses_session:
                self._start_ahead()
            case Stage.IDLE if self.ranks.is_importing:
                self._awaits_imports = True
                self.reports.starting()
            case Stage.IDLE:
                self._say_ready(survivor=False)
            case Stage.STARTING:
                self.reports.starting()
            case Stage.WAITING:
                self._say_ready(survivor=self.ranks.all_survived)
            case Stage.FINISHED if self.world is not None:
                self.reports.finished()
            case _:
                pass

    def _start_ahead(self) -> None:
        """Start the ranks before there is a world, so that the others train while they import."""
        self.stage, self._leave_by = Stage.STARTING, None
        self.reports.starting()
        self.ranks.start(None)

    def _start_anew(self) -> None:
        """End ranks that are not to be used again, and start others in their place."""
        self.ranks.kill()
        self._start_ahead()

    def _idle(self) -> None:
        self.stage = Stage.IDLE
        if not self._departure.is_announced:
            self._announce_stage()

    def _get_ready_if_all_arrived(self) -> None:
        if not self.ranks.all_wait:
            return
        if self.stage is Stage.TRAINING and not self.ranks.all_survived:
            return  # started with a world below the floor: the coordinator is about to end it
        self.stage, self._leave_by = Stage.WAITING, None
        self._say_ready(survivor=self.ranks.all_survived)

    def _say_ready(self, *, survivor: bool) -> None:
        if not self._departure.is_announced:
            port = self._stores.next_port()
            self.reports.ready(port=port, survivor=survivor, floor=self._floor)

    def _say_drained(self) -> None:
        self._traffic.tell(self._clock(), last=True)
        self.reports.drained()
        self._departure.drained(self._clock())

    def _trains_in(self, number: int) -> bool:
        in_world = self.stage in (Stage.TRAINING, Stage.LEAVING)
        return in_world and self.world is not None and self.world.number == number
