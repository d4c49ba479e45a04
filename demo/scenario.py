"""What happens to the job: a notice, a sudden death, machines that come back."""

import asyncio
from dataclasses import dataclass

from spotrain.local.cluster import Node
from spotrain.local.engine import Engine

STEPS_BETWEEN = 40
"""Steps that each world gets before the next thing happens."""


class ScenarioError(RuntimeError):
    """The job went another way than the scenario needs."""


@dataclass
class Scenario:
    """Plays the interruptions on an engine while its job trains."""

    engine: Engine

    async def play(self) -> None:
        """Returns when the job is over.

        Raises:
            ScenarioError: the job ended before everything had happened.
        """
        await self._until_settled(size=3)
        self.engine.machines.set_capacity(1)
        self.engine.machines.reclaim(self._node_of_rank(1))
        await self._until_settled(size=2)
        self.engine.machines.destroy(self._node_of_rank(0))
        await self._until_settled(size=1)
        self.engine.machines.set_capacity(3)
        await self._until_settled(size=3)
        await self.engine.until(lambda: self.engine.status.finished)

    async def _until_settled(self, *, size: int) -> None:
        """Until a world of `size` has done some steps, and saved once while it trained."""
        await self.engine.until(lambda: self.engine.status.finished or self._has_settled(size))
        if not self._has_settled(size):
            message = self.engine.report().message or "no reason given"
            raise ScenarioError(f"the job ended before a world of {size} trained: {message}")

    def _has_settled(self, size: int) -> bool:
        report = self.engine.report()
        if report.size != size:
            return False
        chapter = report.history[-1]
        first, last, saved = chapter.first_step, chapter.last_step, chapter.committed_step
        if first is None or last is None or saved is None:
            return False
        return last >= first + STEPS_BETWEEN and saved > first

    def _node_of_rank(self, group_rank: int) -> Node:
        name = self.engine.report().history[-1].members[group_rank]
        node = next(pod.node for pod in self.engine.machines.pods if pod.name == name)
        assert node is not None
        return node


async def wait_or_fail(scenario: Scenario, *, limit_seconds: float) -> None:
    """Play the scenario, but not for ever."""
    try:
        async with asyncio.timeout(limit_seconds):
            await scenario.play()
    except TimeoutError:
        report = scenario.engine.report()
        raise ScenarioError(
            f"not over after {limit_seconds:.0f} s: world {report.number} of {report.size} "
            f"({report.phase}), step {report.step:,}; see build/demo/archive/logs"
        ) from None
