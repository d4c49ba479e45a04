"""Agents that speak the protocol and train nothing: some of the jobs, in one process.

    python -m bench.coordinator.agents PORT FIRST_JOB JOBS AGENTS_PER_JOB

Each has an address of its own, as pods have. It obeys words on stdin: `form`, `train SECONDS`,
`lose` (one agent of each job goes), and answers with a line of JSON when it is done.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from websockets.asyncio.client import ClientConnection, connect

from spotrain.coordinator import protocol


class Crowd:
    """The agents of this process, and when the last world was heard of."""

    def __init__(self, port: int, first: int, jobs: int, size: int) -> None:
        self._url = f"ws://127.0.0.1:{port}"
        self._jobs = range(first, first + jobs)
        self._size = size
        self._agents: dict[tuple[int, int], ClientConnection] = {}
        self._worlds: dict[tuple[int, int], int] = {}
        self._heard = asyncio.Event()
        self._held = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    async def form(self) -> float:
        """When the last agent was told its first world, on the system's monotonic clock."""
        places = [(job, index) for job in self._jobs for index in range(self._size)]
        await asyncio.gather(*(self._join(*place) for place in places))
        return await self._until_all_are_in(1)

    async def train(self, seconds: float) -> float:
        """Rank 0 of each job reports twice a second, as agents do."""
        end, step = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            step += 1
            for job in self._jobs:
                report = protocol.Progress(world=1, step=step, epoch=0, samples=8)
                await self._agents[job, 0].send(protocol.encode(report))
            await asyncio.sleep(0.5)
        return time.monotonic()

    async def lose(self) -> float:
        """The last agent of each job goes without a word."""
        for job in self._jobs:
            place = job, self._size - 1
            del self._worlds[place]
            self._agents.pop(place).transport.abort()
        return await self._until_all_are_in(2)

    async def _until_all_are_in(self, number: int) -> float:
        while not self._worlds or min(self._worlds.values()) < number:
            self._heard.clear()
            await self._heard.wait()
        return time.monotonic()

    async def _join(self, job: int, index: int) -> None:
        agent = await self._held.enter_async_context(
            connect(
                self._url,
                local_addr=(f"127.{1 + job}.0.{1 + index}", 0),
                additional_headers={"Authorization": "Bearer bench"},
                compression=None,
                ping_interval=1.0,
                ping_timeout=60.0,
                open_timeout=60.0,
                close_timeout=1.0,
            )
        )
        self._agents[job, index], self._worlds[job, index] = agent, 0
        hello = protocol.Hello(
            version=protocol.VERSION,
            job=f"bench/job-{job}/uid",
            pod=f"job-{job}-worker-{index}",
            address=f"127.{1 + job}.0.{1 + index}",
            ranks=8,
            uses_session=True,
        )
        await agent.send(protocol.encode(hello))
        await agent.send(protocol.encode(protocol.Ready(port=29500)))
        task = asyncio.create_task(self._obey((job, index), agent))
        self._tasks.add(task)

    async def _obey(self, place: tuple[int, int], agent: ClientConnection) -> None:
        async for text in agent:
            message = protocol.decode(text, protocol.FROM_COORDINATOR)
            if isinstance(message, protocol.NewWorld):
                self._worlds[place] = message.number
                self._heard.set()
            elif isinstance(message, protocol.Restart):
                ready = protocol.Ready(port=29500, survivor=True, world=message.world)
                await agent.send(protocol.encode(ready))


async def words() -> AsyncIterator[list[str]]:
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line.split()


async def main(port: int, first: int, jobs: int, size: int) -> None:
    crowd = Crowd(port, first, jobs, size)
    async for word, *rest in words():
        begun = time.monotonic()
        match word:
            case "form":
                done = await crowd.form()
            case "train":
                done = await crowd.train(float(rest[0]))
            case _:
                done = await crowd.lose()
        print(json.dumps({"begun": begun, "done": done}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*(int(argument) for argument in sys.argv[1:])))
