"""When the lines of a container's log were written.

A process writes straight to its file, and stamps nothing; so the file's size is noted as it grows.
A line's time is that of the first look that saw it whole, and the same whenever it is asked for.
"""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

LOOK_SECONDS: Final = 0.1


class LogTimes:
    """Of one run of a container. Usage: `async with times.kept(): await run`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_closed = False
        """Nothing more is written to it."""
        self._sizes: list[int] = []
        self._times: list[datetime] = []

    @property
    def size(self) -> int:
        """Up to which the file has times."""
        return self._sizes[-1] if self._sizes else 0

    def time_of(self, end: int) -> datetime:
        """Of what ends at this byte, which is at most `size`."""
        return self._times[bisect_left(self._sizes, end)]

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            looking.cancel()
            self._look()
            self.is_closed = True

    async def _look_on(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(LOOK_SECONDS)

    def _look(self) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return  # not started yet
        if size > self.size:
            self._sizes.append(size)
            self._times.append(datetime.now(UTC))
