"""Garbage, and messages in any order: one job may suffer by them, never the process or another."""

import asyncio
import json
import typing
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from spotrain.coordinator import protocol
from tests.coordinator.talk import HELLO, JOB, LIMITS, connection, hear, say, serving

OTHER = "ns/other/uid"
SMALL = st.integers(0, 3)


def messages() -> st.SearchStrategy[str]:
    """What an agent may say, all of the right types, and of the wrong ones now and then."""
    kinds = [st.builds(kind) for kind in typing.get_args(protocol.FromAgent)]
    return st.one_of(kinds).map(_text)


def _text(message: Any) -> str:
    """Like `protocol.encode`, but for numbers that are none."""
    kind = next(name for name, kind in protocol.FROM_AGENT.items() if type(message) is kind)
    return json.dumps({"type": kind, **asdict(message)})


def raw_messages() -> st.SearchStrategy[str]:
    fields = st.dictionaries(
        st.sampled_from(["world", "step", "port", "seconds", "number", "floor", "hard"]),
        SMALL | st.booleans() | st.none() | st.text(max_size=3),
        max_size=4,
    )
    named = st.tuples(st.sampled_from(sorted(protocol.FROM_AGENT)), fields)
    return named.map(lambda pair: json.dumps({**pair[1], "type": pair[0]}))


SAID = st.lists(messages() | messages() | messages() | raw_messages() | st.binary(max_size=9))


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(SAID, min_size=1, max_size=3))
def test_nothing_that_agents_say_harms_the_process_or_another_job(
    said: list[list[str | bytes]],
) -> None:
    asyncio.run(_play(said))


async def _play(said: list[list[str | bytes]]) -> None:
    failures: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: failures.append(context))
    async with serving() as (coordinator, url), connection(url) as victim:
        coordinator.set_job(OTHER, LIMITS)
        await say(victim, replace(HELLO, job=OTHER))
        await hear(victim)
        before = coordinator.jobs[OTHER].state
        for number, texts in enumerate(said):
            await _speak(url, f"p{number}", texts)
        assert coordinator.jobs[OTHER].state == before
        await say(victim, protocol.Ready(port=1))
        assert isinstance(await hear(victim), protocol.NewWorld)
        async with connection(url) as agent:
            await say(agent, HELLO)
            assert isinstance(await hear(agent), protocol.Welcome | protocol.Closed)
        assert coordinator.report(JOB) is not None
    assert failures == []


async def _speak(url: str, pod: str, texts: list[str | bytes]) -> None:
    async with connection(url) as agent:
        with suppress(ConnectionClosed):
            await say(agent, replace(HELLO, pod=pod))
            for text in texts:
                await agent.send(text)
            await (await agent.ping())
        assert agent.close_code != CloseCode.INTERNAL_ERROR, "an error of the server's own"
