"""A trace played to a team: its nodes come, get notice and go as they did in the trace."""

import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.train.peers.launchers import Launcher
from bench.train.peers.steps import StepDone
from bench.train.peers.team import Team, team
from spotrain.ledger.goodput import Interval
from spotrain.ledger.traces import Trace

LOOK_SECONDS: Final = 0.1
RESTART_SECONDS: Final = 1.0
"""An agent that has ended is started again after this long, as a pod's restart policy would."""
NOTICE_SECONDS: Final = 120.0
"""Of a spot instance on AWS; compressed with the trace."""


@dataclass(frozen=True)
class Played:
    """What a team did on a trace. Times are seconds since its beginning."""

    steps: list[StepDone]
    nodes: list[Interval]
    """Life of each node."""
    restarts: int
    """Agents that ended by themselves and were started again."""


@dataclass
class _Node:
    worker: str
    started: float
    kill_at: float | None = None
    """Set once it has its notice."""
    ended: float | None = None
    agent_ended: float | None = None


@dataclass
class _Nodes:
    """The nodes of one play. The first one is never taken: torchrun's agents meet there."""

    job: Team
    notice_seconds: float
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    all: list[_Node] = field(default_factory=list)
    restarts: int = 0

    def require(self, count: int, now: float) -> None:
        """Start nodes, or give notice to some, until `count` are there to stay."""
        staying = [node for node in self.all if node.kill_at is None]
        for _ in range(count - len(staying)):
            node = _Node(f"w{len(self.all)}", now)
            self.all.append(node)
            self.job.start(node.worker)
        for node in self.chance.sample(staying[1:], max(0, len(staying) - count)):
            node.kill_at = now + self.notice_seconds
            if self.job.agents[node.worker].poll() is None:
                self.job.notice(node.worker)

    def look_after(self, now: float) -> None:
        """End the lives of nodes whose time is over; start agents again that ended too early."""
        for node in self.all:
            if node.ended is not None:
                continue
            has_ended = self.job.agents[node.worker].poll() is not None
            if node.kill_at is not None and (has_ended or now >= node.kill_at):
                self.job.kill(node.worker)
                node.ended = now
            elif has_ended:
                node.agent_ended = node.agent_ended or now
                if now - node.agent_ended >= RESTART_SECONDS:
                    self.job.signal(signal.SIGKILL, node.worker)  # what an agent left behind
                    self.job.start(node.worker)
                    node.agent_ended, self.restarts = None, self.restarts + 1


def play(
    launcher: Launcher, folder: Path, trace: Trace, *, factor: float, step_seconds: float
) -> Played:
    """Play a trace, compressed by `factor` already, to a new job; take what it did."""
    most = max(nodes for _, _, nodes in trace.spans)
    options = ("--step-seconds", str(step_seconds))
    with team(launcher, folder, max_size=most, options=options) as job:
        began = time.monotonic()
        nodes = _Nodes(job, NOTICE_SECONDS / factor)
        for _, end, count in trace.spans:
            nodes.require(count, time.monotonic() - began)
            while (now := time.monotonic() - began) < end:
                nodes.look_after(now)
                time.sleep(LOOK_SECONDS)
        steps = [step for step in job.steps() if step.at - began <= trace.seconds]
    lives = [(node.started, node.ended or trace.seconds) for node in nodes.all]
    return Played(moved(steps, by=-began), lives, nodes.restarts)


def moved(steps: list[StepDone], *, by: float) -> list[StepDone]:
    """The same steps with other times."""
    return [StepDone(**(vars(step) | {"at": step.at + by})) for step in steps]
