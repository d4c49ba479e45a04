"""Agents of the protocol's previous version: what they send is here as they sent it."""

import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from spotrain import worlds
from spotrain.coordinator import protocol
from tests.coordinator.talk import JOB, connection, serving

HELLO_1 = (
    '{"type": "hello", "version": 1, "job": "ns/job/uid", "pod": "a", "address": "127.0.0.1", '
    '"ranks": 1, "uses_session": null, "world": null, "finished": false, "leaving_seconds": null}'
)
WORLD_1 = (
    '{"number": 1, "seats": [{"id": "a", "address": "127.0.0.1", "ranks": 1}], '
    '"store_port": 4711, "restore": null}'
)
READY_1 = '{"type": "ready", "port": 4711, "survivor": false, "world": 0, "floor": 0}'
LIFE_1 = [
    '{"type": "uses_session", "value": true}',
    '{"type": "progress", "world": 1, "step": 5, "epoch": 0, "samples": 8, "restored_step": 0, '
    '"previous_step": null, "metrics": {"loss": 0.5}}',
    '{"type": "commit", "world": 1, "step": 5}',
]
SAVED_1 = '{"type": "saved", "world": 1, "step": 5}'
FINISHED_1 = '{"type": "finished", "world": 1}'


async def hear(agent: ClientConnection) -> dict[str, Any]:
    message = json.loads(await agent.recv())
    assert isinstance(message, dict)
    return message


async def test_an_agent_of_the_previous_version_trains_to_the_end() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        await agent.send(HELLO_1)
        assert await hear(agent) == {"type": "welcome", "version": 1, "uses_session": None}
        await agent.send(READY_1)
        assert await hear(agent) == {"type": "new_world", **json.loads(WORLD_1)}
        for text in LIFE_1:
            await agent.send(text)
        answer = {"type": "commit_answer", "world": 1, "step": 5, "accepted": True}
        assert await hear(agent) == answer
        await agent.send(SAVED_1)
        await agent.send(FINISHED_1)
        assert (await hear(agent))["outcome"] == "succeeded"
        report = coordinator.report(JOB)
        assert report is not None
        assert (report.step, report.history[0].committed_step) == (5, 5)
        assert coordinator.ignored == protocol.Ignored()


async def test_an_agent_of_the_previous_version_comes_back_to_a_new_coordinator() -> None:
    """It hears no answer that it does not know, and its world trains on."""
    async with serving() as (coordinator, url), connection(url) as agent:
        coordinator.drop_job(JOB)
        limits = worlds.Limits(min_size=1, max_size=2, desired_size=2)
        coordinator.set_job(JOB, limits, number=1)
        seats = WORLD_1.replace(
            '"ranks": 1}', '"ranks": 1}, {"id": "b", "address": "", "ranks": 1}'
        )
        await agent.send(HELLO_1.replace('"world": null', f'"world": {seats}'))
        assert (await hear(agent))["type"] == "welcome"
        await agent.send(LIFE_1[2])
        async with connection(url) as other:
            hello = HELLO_1.replace('"world": null', f'"world": {seats}')
            await other.send(hello.replace('"pod": "a"', '"pod": "b"'))
            assert (await hear(other))["type"] == "welcome"
            await agent.send(LIFE_1[2])
            answer = {"type": "commit_answer", "world": 1, "step": 5, "accepted": True}
            assert await hear(agent) == answer, "nothing was said to the first question"


async def test_an_agent_of_the_present_version_is_told_that_nothing_is_known_yet() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        coordinator.drop_job(JOB)
        coordinator.set_job(JOB, worlds.Limits(min_size=1, max_size=2, desired_size=2), number=7)
        await agent.send(HELLO_1.replace('"version": 1', f'"version": {protocol.VERSION}'))
        await hear(agent)
        await agent.send(LIFE_1[2])
        answer = {"type": "commit_answer", "world": 1, "step": 5, "accepted": None}
        assert await hear(agent) == answer


@pytest.mark.parametrize("version", [0, protocol.VERSION + 1])
async def test_other_versions_are_refused_with_what_to_do(version: int) -> None:
    async with serving() as (_, url), connection(url) as agent:
        await agent.send(HELLO_1.replace('"version": 1', f'"version": {version}'))
        assert "same spotrain release" in (await hear(agent))["reason"]


async def test_what_a_newer_agent_says_beyond_the_known_is_ignored_and_counted() -> None:
    async with serving() as (coordinator, url), connection(url) as agent:
        await agent.send(HELLO_1.replace('"ranks": 1', '"ranks": 1, "mood": "good"'))
        await hear(agent)
        await agent.send('{"type": "sing", "song": "la"}')
        await agent.send(READY_1)
        assert (await hear(agent))["type"] == "new_world"
        assert coordinator.ignored == protocol.Ignored(types=1, fields=1)
