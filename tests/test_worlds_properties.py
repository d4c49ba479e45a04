"""Random stories of honest agents: whatever happens in whatever order, the promises hold."""

from dataclasses import dataclass

from hypothesis import settings
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
from spotrain.worlds import Checkpoint, Limits, Phase

TRAINING = (Phase.RUNNING, Phase.DRAINING)


@dataclass
class Agent:
    """What an honest agent knows: it does what it is told, when the story lets it."""

    id: str
    doing: str = "starting"
    """starting, ready, training, draining, leaving, drained (on notice, to be released)"""
    world: int = 0
    on_notice: bool = False


class Stories(RuleBasedStateMachine):
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
        self.limits = Limits(
            min_size=least,
            max_size=least + more,
            desired_size=least + more,
            allowed_sizes=allowed,
            growth_delay_seconds=10,
            max_restarts=restarts,
        )
        self.now = 0.0
        self.state = worlds.start(self.limits, number=number, now=0.0)
        self.living: dict[str, Agent] = {}
        self.published: list[worlds.World] = []
        self.unrecorded: list[int] = []
        self.count = 0
        self.restarted = False

    def on(self, event: worlds.Event) -> None:
        self.state, commands = worlds.on(self.state, event, self.now)
        for command in commands:
            self._obey(command)

    def _obey(self, command: worlds.Command) -> None:
        match command:
            case worlds.Record(number=number):
                self.unrecorded.append(number)
            case worlds.Publish(world=world):
                self._check_new(world)
                self.published.append(world)
                for id in world.ids:
                    self.living[id].doing, self.living[id].world = "training", world.number
            case worlds.AskDrain(world=number, ids=ids):
                self._tell(ids, number, "draining")
            case worlds.Restart(world=number, ids=ids):
                self._tell(ids, number, "leaving")
            case worlds.Release(ids=ids):
                for id in ids:
                    self._end(self.living[id])

    def _check_new(self, world: worlds.World) -> None:
        assert all(world.number > earlier.number for earlier in self.published)
        assert len(set(world.ids)) == world.size
        assert self.limits.min_size <= world.size <= self.limits.max_size
        assert not self.limits.allowed_sizes or world.size in self.limits.allowed_sizes
        for id in world.ids:
            assert self.living[id].doing == "ready"
            assert not self.living[id].on_notice
        if self.restarted:
            return  # who was not adopted trains on, fenced, until it hears that it must leave
        trained = [a.id for a in self.living.values() if a.doing in ("training", "draining")]
        assert trained == [], "somebody still trains in the world before"

    def _tell(self, ids: tuple[str, ...], number: int, what: str) -> None:
        for id in ids:
            agent = self.living.get(id)
            if agent and agent.world == number and agent.doing in ("training", "draining"):
                agent.doing = what

    def _end(self, agent: Agent) -> None:
        if self.living.pop(agent.id, None) is not None:
            self.on(worlds.Lost(id=agent.id))

    # --- What may happen ---

    @rule(target=agents)
    def connect(self) -> Agent:
        self.count += 1
        agent = Agent(f"p{self.count}")
        self.living[agent.id] = agent
        self.on(worlds.Joined(id=agent.id, address=agent.id, ranks=1))
        return agent

    @rule(agent=agents)
    def go_on(self, agent: Agent) -> None:
        """The agent does the next thing that it has been told to do."""
        if agent.id not in self.living:
            return
        if agent.doing in ("starting", "leaving"):
            if agent.on_notice:
                self._end(agent)
                return
            survivor, agent.doing = agent.doing == "leaving", "ready"
            self._say_ready(agent, survivor=survivor)
        elif agent.doing == "drained":
            self._end(agent)  # its release is taking too long
        elif agent.doing == "draining":
            agent.doing = "drained"
            self.on(worlds.Drained(id=agent.id, world=agent.world))
            if not agent.on_notice:
                agent.doing = "ready"
                self._say_ready(agent, survivor=True)

    def _say_ready(self, agent: Agent, *, survivor: bool) -> None:
        ready = worlds.Ready(id=agent.id, port=1, survivor=survivor, world=agent.world)
        self.on(ready)

    @rule(agent=agents, seconds=st.integers(1, 90))
    def notice(self, agent: Agent, seconds: int) -> None:
        if agent.id not in self.living or agent.on_notice:
            return
        agent.on_notice = True
        self.on(worlds.Leaving(id=agent.id, seconds=seconds))
        if agent.id in self.living and agent.doing in ("starting", "ready", "leaving"):
            self._end(agent)

    @rule(agent=consumes(agents))
    def kill(self, agent: Agent) -> None:
        self._end(agent)

    @rule(agent=agents, hard=st.booleans())
    def fail(self, agent: Agent, hard: bool) -> None:
        if agent.id in self.living and agent.doing in ("training", "draining"):
            world = agent.world
            agent.doing = "starting" if hard else "leaving"
            self.on(worlds.Failed(id=agent.id, world=world, hard=hard, message="no"))

    @rule(agent=agents, step=st.integers(0, 99))
    def commit(self, agent: Agent, step: int) -> None:
        if agent.id not in self.living or agent.world == 0:
            return
        before = self.state
        checkpoint = Checkpoint(agent.world, step)
        self.state, commands = worlds.on(
            before, worlds.CommitAsked(id=agent.id, checkpoint=checkpoint), self.now
        )
        answers = [c for c in commands if isinstance(c, worlds.AnswerCommit)]
        if before.recover_until is not None and before.phase is not Phase.CLOSED:
            # It may be the present world's: a refusal would end that.
            assert [answer.accepted for answer in answers] == [None]
            return
        (answer,) = answers
        if answer.accepted:
            assert agent.world == self.published[-1].number
            assert before.phase in TRAINING
            self.on(worlds.Saved(checkpoint=checkpoint))

    @rule()
    @precondition(lambda self: self.state.phase is not Phase.CLOSED)
    def restart_coordinator(self) -> None:
        """It comes back knowing the last number only; every agent says where it stands."""
        self.restarted = True
        number = max([self.state.number, *(world.number for world in self.published)])
        self.state = worlds.start(self.limits, number=number, now=self.now)
        self.unrecorded.clear()
        for agent in list(self.living.values()):
            in_world = agent.doing in ("training", "draining", "leaving", "drained")
            known = [world for world in self.published if world.number == agent.world]
            claim = known[0] if known else None
            joined = worlds.Joined(
                id=agent.id, address=agent.id, ranks=1, claim=claim, left=not in_world
            )
            self.on(joined)
            if agent.on_notice:
                self.on(worlds.Leaving(id=agent.id, seconds=60))
            if agent.doing == "ready":
                self._say_ready(agent, survivor=True)

    @rule()
    @precondition(lambda self: self.unrecorded)
    def record(self) -> None:
        self.on(worlds.Recorded(number=self.unrecorded.pop(0)))

    @rule(seconds=st.integers(1, 30))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds
        self.on(worlds.Tick())

    @rule()
    def settle(self) -> None:
        """If everybody does what it is told, then as good a world as there can be trains."""
        for _ in range(20):
            for agent in list(self.living.values()):
                self.go_on(agent)
            while self.unrecorded:
                self.record()
            due = worlds.next_deadline(self.state)
            if due is not None:
                self.now = max(self.now, due)
                self.on(worlds.Tick())
        if self.state.phase is Phase.CLOSED:
            assert self.state.restarts > self.limits.max_restarts
            return
        stay = [agent for agent in self.living.values() if not agent.on_notice]
        best = worlds.choose_size(self.limits, len(stay))
        if best == 0:
            assert self.state.phase is Phase.WAITING
        else:
            assert self.state.phase is Phase.RUNNING
            assert self.published[-1].size == best

    @invariant()
    def seats_are_known_members_or_lost(self) -> None:
        if hasattr(self, "state") and self.state.phase is not Phase.CLOSED:
            assert self.state.members.keys() == self.living.keys()


Stories.TestCase.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
TestStories = Stories.TestCase
