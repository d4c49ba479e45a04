"""A coordinator that was stopped for a while must not take its own silence for that of agents."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from spotrain.coordinator import protocol
from spotrain.coordinator.standstill import LOOK_SECONDS, Standstill
from tests.coordinator.talk import HELLO, JOB, connection, hear, join, say, serving


def ticking(*pauses: float) -> Iterator[float]:
    """A clock that is looked at twice for each pause: when it ends, and when the next begins."""
    now = 0.0
    yield now
    for pause in pauses:
        now += LOOK_SECONDS + pause
        yield now
        yield now


@pytest.mark.parametrize("pauses", [(0.9,), (0.9, 0.9), (1.0, 0.2)])
async def test_only_a_standstill_as_long_as_that_is_noticed(pauses: tuple[float, ...]) -> None:
    times = ticking(*pauses)
    told: list[float] = []
    over = asyncio.Event()

    def clock() -> float:
        try:
            return next(times)
        except StopIteration:
            over.set()
            return 0.0

    with Standstill(told.append, seconds=1.0, clock=clock).watched():
        await over.wait()
    assert told == [pytest.approx(pause) for pause in pauses if pause >= 1.0]


async def test_nobody_looks_while_nobody_watches() -> None:
    told: list[float] = []
    standstill = Standstill(told.append, seconds=0.0)
    with standstill.watched(), standstill.watched():
        pass
    before = len(asyncio.all_tasks())
    time.sleep(2 * LOOK_SECONDS)
    await asyncio.sleep(0)
    assert (told, len(asyncio.all_tasks())) == ([], before)


async def test_a_coordinator_that_stood_still_loses_nobody_and_its_world_trains_on() -> None:
    async with serving(expiry_seconds=0.5) as (coordinator, url):
        async with connection(url) as agent:
            await join(agent)
            world = await hear(agent)
            time.sleep(1.0 + LOOK_SECONDS)
            await agent.wait_closed()
        report = coordinator.report(JOB)
        assert report is not None
        assert [(c.number, c.reason) for c in report.history] == [(world.number, None)]
        async with connection(url) as agent:
            await say(agent, replace(HELLO, world=world))
            assert isinstance(await hear(agent), protocol.Welcome)
            await say(agent, protocol.Commit(world=world.number, step=1))
            answer = protocol.CommitAnswer(world=world.number, step=1, accepted=True)
            while await hear(agent) != answer:
                pass
            report = coordinator.report(JOB)
            assert report is not None
            assert report.size == 1
            assert [(c.number, c.reason) for c in report.history] == [(world.number, None)]
