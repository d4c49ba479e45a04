"""Random stories of a job: agents come, obey, hang and go, and so does the coordinator.

Whatever happens in whatever order, the promises of `spotrain.worlds` hold: they are the assertions
here. The machine under test is `Stories.worlds`, so that broken ones can be put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from spotrain import worlds
from spotrain.worlds import Limits, Phase, Reason

PLANNED = (Reason.NOTICE, Reason.GROWTH, Reason.LIMITS)
INSIDE = ("training", "draining", "leaving")
"""Where an agent's ranks are in a world."""


@dataclass
class Agent:
    """What an agent knows: it does what it is told, when the story lets it."""

    id: str
    doing: str = "starting"
    """starting, ready, training, draining, leaving (a broken world), drained (on notice, to be
    released), finished (its processes exited with 0)"""
    world: int = 0
    on_notice: bool = False
    hangs: bool = False
    """Connected, but it does nothing any more."""
    ready_at: float = 0.0


class Stories(RuleBasedStateMachine):
    worlds: Any = worlds
    agents = Bundle("agents")

    @initialize(
        least=st.integers(1, 3),
        more=st.integers(0, 4),
        allowed=st.sampled_from([(), (1, 2, 4), (2, 3), (4,)]),
        number=st.sampled_from([0, 0, 5]),
        restarts=st.sampled_from([0, 2, 1000]),
    )
    def begin(
        self, least: int, more: int, allowed: tuple[int, ...], number: int, restarts: int
    ) -> None:
        self.limits: Limits = self.worlds.Limits(
            min_size=least,
            max_size=least + more,
            desired_size=least + more,
            allowed_sizes=allowed,
            growth_delay_seconds=10,
            max_restarts=restarts,
        )
        self.now = 0.0
        self.state = self.worlds.start(self.limits, number=number, now=0.0)
        self.durable = number
        self.living: dict[str, Agent] = {}
        self.published: list[worlds.World] = []
        self.published_at = 0.0
        self.unrecorded: list[int] = []
        self.endings: dict[int, str] = {}
        """World -> why it ended, the last word on it."""
        self.finished: set[tuple[int, str]] = set()
        """World and member of each finish."""
        self.closed: list[str] = []
        """Outcomes, one for each `Close` to the whole job."""
        self.is_joining_closed = False
        self.hurt: set[int] = set()
        """Worlds in which something happened that nobody had planned."""
        self.count = 0
        self.returned_at: float | None = None
        """When the coordinator came back last."""

    # --- What the machine says is obeyed and judged ---

    def on(self, event: Any) -> Sequence[Any]:
        before = self.state
        self.is_joining_closed = before.phase == Phase.CLOSED
        deadline = before.drain_deadline
        if deadline is not None and self.now >= deadline and before.world is not None:
            self.hurt.add(before.world.number)  # the drain has failed
        self.state, commands = self.worlds.on(before, event, self.now)
        if self.state.recover_until is not None:
            self._check_undecided(commands)
        elif before.recover_until is not None and self.now < before.recover_until:
            assert "Adopted" in [type(command).__name__ for command in commands]
        for command in commands:
            self._obey(command)
        return list(commands)

    def _check_undecided(self, commands: Sequence[Any]) -> None:
        """Before the last world's members are back, or the time for that is over."""
        answers = [self.worlds.AnswerCommit]
        assert [c for c in commands if type(c) not in answers] == []
        assert {c.accepted for c in commands} <= {None}

    def _obey(self, command: Any) -> None:
        match type(command).__name__:
            case "Record":
                self.unrecorded.append(command.number)
            case "Publish":
                self._check_new(command.world)
                self.published.append(command.world)
                self.published_at = self.now
                for id in command.world.ids:
                    self.living[id].doing, self.living[id].world = "training", command.world.number
            case "Adopted":
                self._check_adopted(command.world)
            case "AskDrain":
                self._check_planned(command)
                self._tell(command.ids, command.world, "draining")
            case "Restart":
                is_current = self.published and command.world == self.published[-1].number
                assert not is_current or command.world in self.hurt, "a planned change drains first"
                self._tell(command.ids, command.world, "leaving")
            case "Release":
                inside = [a for a in self.living.values() if a.world == command.world]
                assert {agent.doing for agent in inside}.isdisjoint(INSIDE), "still needed"
            case "Ended":
                self.endings[command.world] = command.reason
            case "Close":
                self._check_closed(command.outcome)

    def _check_new(self, world: worlds.World) -> None:
        assert world.number <= self.durable, "published before it was durable"
        assert all(world.number > earlier.number for earlier in self.published)
        assert len(set(world.ids)) == world.size
        assert self.limits.min_size <= world.size <= self.limits.max_size
        assert not self.limits.allowed_sizes or world.size in self.limits.allowed_sizes
        failures = [reason for reason in self.endings.values() if reason == Reason.FAILURE]
        assert self.returned_at is not None or len(failures) <= self.limits.max_restarts
        for id in world.ids:
            assert self.living[id].doing == "ready"
            assert not self.living[id].on_notice
        if self.returned_at is not None:
            return  # who was not adopted trains on, fenced, until it hears that it must leave
        trained = [a for a in self.living.values() if a.doing in INSIDE and not a.hangs]
        assert trained == [], "somebody is still in the world before"

    def _check_closed(self, outcome: str) -> None:
        if self.is_joining_closed:
            assert outcome == self.closed[0]
            return
        assert self.closed == [], "closed twice"
        self.closed.append(outcome)
        if outcome == "succeeded":
            last = self.published[-1]
            missing = {id for id in last.ids if (last.number, id) not in self.finished}
            assert not missing, "success without having finished"

    def _check_adopted(self, world: worlds.World) -> None:
        assert world == self.published[-1], "not the newest world"
        back = [agent for agent in self.living.values() if agent.world == world.number]
        assert 2 * len(back) > world.size, "adopted by a minority"

    def _check_planned(self, drain: Any) -> None:
        assert drain.world == self.published[-1].number
        if drain.reason != Reason.GROWTH or self.returned_at is not None:
            return
        in_world = self.published[-1].ids
        newcomers = [a.ready_at for a in self.living.values() if a.id not in in_world]
        since = max(self.published_at, min(newcomers))
        assert self.now >= since + self.limits.growth_delay_seconds, "not gathered"

    def _tell(self, ids: Sequence[str], number: int, what: str) -> None:
        for id in ids:
            agent = self.living.get(id)
            if agent and agent.world == number and agent.doing in ("training", "draining"):
                agent.doing = what
            elif agent and agent.world == number and agent.doing == "finished":
                agent.doing = "starting" if what == "leaving" else agent.doing

    def _end(self, agent: Agent) -> None:
        if self.living.pop(agent.id, None) is not None:
            if agent.doing in INSIDE:
                self.hurt.add(agent.world)
            self.on(self.worlds.Lost(id=agent.id))

    # --- What may happen ---

    @rule(target=agents)
    def connect(self) -> Agent:
        self.count += 1
        agent = Agent(f"p{self.count}")
        self.living[agent.id] = agent
        self.on(self.worlds.Joined(id=agent.id, address=agent.id, ranks=1))
        return agent

    @rule(agent=agents)
    def go_on(self, agent: Agent) -> None:
        """The agent does the next thing that it has been told to do."""
        if agent.id not in self.living or agent.hangs:
            return
        if agent.doing == "finished":
            return
        if agent.on_notice and agent.doing not in ("training", "draining"):
            self._end(agent)  # released or not: that may take too long
        elif agent.doing in ("starting", "leaving"):
            survivor, agent.doing = agent.doing == "leaving", "ready"
            self._say_ready(agent, survivor=survivor)
        elif agent.doing == "draining":
            agent.doing = "drained"
            self.on(self.worlds.Drained(id=agent.id, world=agent.world))
            if not agent.on_notice:
                agent.doing = "ready"
                self._say_ready(agent, survivor=True)

    def _say_ready(self, agent: Agent, *, survivor: bool) -> None:
        agent.ready_at = self.now
        self.on(self.worlds.Ready(id=agent.id, port=1, survivor=survivor, world=agent.world))

    @rule(agent=agents)
    def finish(self, agent: Agent) -> None:
        is_training = agent.doing in ("training", "draining") and not agent.hangs
        if agent.id in self.living and is_training:
            agent.doing = "finished"
            self.finished.add((agent.world, agent.id))
            self.hurt.add(agent.world)
            self.on(self.worlds.Finished(id=agent.id, world=agent.world))

    @rule(agent=agents, seconds=st.integers(1, 90))
    def notice(self, agent: Agent, seconds: int) -> None:
        is_done = agent.doing == "finished"
        if agent.id not in self.living or agent.on_notice or agent.hangs or is_done:
            return
        agent.on_notice = True
        self.on(self.worlds.Leaving(id=agent.id, seconds=seconds))

    @rule(agent=consumes(agents))
    def kill(self, agent: Agent) -> None:
        self._end(agent)

    @rule(agent=agents)
    def hang(self, agent: Agent) -> None:
        agent.hangs = True

    @rule(agent=agents, other=agents, is_planned=st.booleans())
    def hang_at_a_change(self, agent: Agent, other: Agent, is_planned: bool) -> None:
        """The worst moment to hang in: the others need its word to go on."""
        agent.hangs = True
        if is_planned:
            self.notice(other, 60)
        else:
            self.fail(other, False)
        self.settle()

    @rule(agent=agents, hard=st.booleans())
    def fail(self, agent: Agent, hard: bool) -> None:
        is_training = agent.doing in ("training", "draining") and not agent.hangs
        if agent.id in self.living and is_training:
            world = agent.world
            self.hurt.add(world)
            agent.doing = "starting" if hard else "leaving"
            self.on(self.worlds.Failed(id=agent.id, world=world, hard=hard, message="no"))

    @rule()
    @precondition(lambda self: self.published)
    def stall(self) -> None:
        number = self.published[-1].number
        self.hurt.add(number)
        self.on(self.worlds.Stalled(world=number, message="no step"))

    @rule(agent=agents, step=st.integers(0, 99))
    def commit(self, agent: Agent, step: int) -> None:
        if agent.id not in self.living or agent.world == 0:
            return
        checkpoint = self.worlds.Checkpoint(agent.world, step)
        is_recovering = self.state.recover_until is not None
        is_open = self.state.phase in (Phase.RUNNING, Phase.DRAINING)
        is_closed = self.state.phase == Phase.CLOSED
        commands = self.on(self.worlds.CommitAsked(id=agent.id, checkpoint=checkpoint))
        (answer,) = [c for c in commands if type(c).__name__ == "AnswerCommit"]
        if is_recovering and not is_closed:
            assert answer.accepted is None  # a refusal would end what may be the present world
        elif answer.accepted:
            assert agent.world == self.published[-1].number, "a commit of an old world"
            assert is_open
            self.on(self.worlds.Saved(checkpoint=checkpoint))
        elif is_open and agent.doing == "training" and agent.world == self.state.world.number:
            raise AssertionError("a member of the present world was refused")

    @rule()
    @precondition(lambda self: self.state.phase != Phase.CLOSED)
    def restart_coordinator(self) -> None:
        """It comes back knowing the last durable number; every agent says where it stands."""
        self.returned_at = self.now
        self.state = self.worlds.start(self.limits, number=self.durable, now=self.now)
        self.unrecorded.clear()
        for agent in list(self.living.values()):
            known = [world for world in self.published if world.number == agent.world]
            is_inside = agent.doing in INSIDE or agent.doing in ("drained", "finished")
            joined = self.worlds.Joined(
                id=agent.id,
                address=agent.id,
                ranks=1,
                claim=known[0] if known else None,
                left=not is_inside,
                finished=agent.doing == "finished",
            )
            if known:  # it may be adopted without those who have left it, or who are gone
                self.hurt.add(agent.world)
            self.on(joined)
            if agent.on_notice:
                self.on(self.worlds.Leaving(id=agent.id, seconds=60))
            if agent.doing == "ready" and agent.id in self.living:
                self._say_ready(agent, survivor=True)
            if agent.doing == "starting" and agent.world:
                self.on(self.worlds.Starting(id=agent.id, world=agent.world))

    @rule()
    @precondition(lambda self: self.unrecorded)
    def record(self) -> None:
        number = self.unrecorded.pop(0)
        self.durable = max(self.durable, number)
        self.on(self.worlds.Recorded(number=number))

    @rule(seconds=st.integers(1, 30))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds
        self.on(self.worlds.Tick())

    @rule()
    def settle(self) -> None:
        """If nothing else happens, then as good a world as there can be trains, and soon."""
        begun = self.now
        for _ in range(20):
            for agent in list(self.living.values()):
                if self._is_finishing(agent.world):
                    self.finish(agent)
                self.go_on(agent)
            while self.unrecorded:
                self.record()
            due = self.worlds.next_deadline(self.state)
            if due is not None:
                self.now = max(self.now, due)
                self.on(self.worlds.Tick())
        self._check_settled(self.now - begun)

    def _is_finishing(self, number: int) -> bool:
        """Training ends on all members at about the same time, if nothing happens to one."""
        return any(a.doing == "finished" and a.world == number for a in self.living.values())

    def _check_settled(self, seconds: float) -> None:
        if self.state.phase == Phase.CLOSED:
            is_failed = self.state.restarts > self.limits.max_restarts
            assert self.closed == ["failed" if is_failed else "succeeded"]
            return
        if self.published and self._is_finishing(self.published[-1].number):
            assert any(agent.hangs for agent in self.living.values())
            return
        limits = self.limits
        bound = limits.recovery_seconds + limits.growth_delay_seconds + 2 * limits.gather_seconds
        hanging = [agent for agent in self.living.values() if agent.hangs]
        if hanging:  # it is given up at the end of a drain, or of the time to leave
            bound += limits.drain_seconds + limits.leave_seconds
        assert seconds <= bound, "somebody is waited for"
        stay = [agent for agent in self.living.values() if not agent.on_notice]
        best = choose(limits, len(stay))
        if not hanging and best:
            assert self.state.phase == Phase.RUNNING
            assert self.published[-1].size == best
        elif choose(limits, len([agent for agent in stay if not agent.hangs])):
            assert self.state.phase == Phase.RUNNING
        elif not best:
            assert self.state.phase == Phase.WAITING

    @invariant()
    def members_are_those_that_live(self) -> None:
        if hasattr(self, "state") and self.state.phase != Phase.CLOSED:
            assert self.state.members.keys() == self.living.keys()

    @invariant()
    def planned_ends_are_told_as_such(self) -> None:
        """A world that ended by plan, and was not hurt, lost nothing."""
        for world, reason in getattr(self, "endings", {}).items():
            assert world in self.hurt or reason in PLANNED


def choose(limits: Limits, available: int) -> int:
    """The size of the best world, counted out by hand."""
    sizes = [
        size
        for size in range(limits.min_size, min(available, limits.max_size) + 1)
        if not limits.allowed_sizes or size in limits.allowed_sizes
    ]
    return max(sizes, default=0)
