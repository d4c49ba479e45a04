"""Work that goes on beside other work."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager


@asynccontextmanager
async def alongside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` beside the body, until the body ends; a fault of either ends both, and is raised
    as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            yield
            task.cancel()
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from None
