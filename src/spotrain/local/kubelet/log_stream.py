"""A container's log as the kubelet's API serves it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from spotrain.local.kubelet.log_times import LOOK_SECONDS, LogTimes

LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """As in Kubernetes' PodLogOptions."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime = LONG_AGO
    tail_lines: int | None = None
    limit_bytes: int | None = None

    @classmethod
    def read(cls, query: Mapping[str, str], now: datetime) -> "LogOptions":
        """Raises ValueError for a number or a time that is none."""
        since = LONG_AGO
        if text := query.get("sinceTime"):
            since = datetime.fromisoformat(text)
        elif text := query.get("sinceSeconds"):
            since = now - timedelta(seconds=int(text))
        return cls(
            follow=query.get("follow") == "true",
            previous=query.get("previous") == "true",
            timestamps=query.get("timestamps") == "true",
            since=since,
            tail_lines=_number(query, "tailLines"),
            limit_bytes=_number(query, "limitBytes"),
        )


def _number(query: Mapping[str, str], name: str) -> int | None:
    return int(query[name]) if query.get(name) else None


async def stream(times: LogTimes, options: LogOptions) -> AsyncIterator[bytes]:
    """Line by line; with `follow` until the container has ended."""
    reader, left = _Reader(times), options.limit_bytes
    first: Iterator[tuple[datetime, bytes]] = reader.read()
    if options.tail_lines is not None:
        first = iter(deque(first, maxlen=options.tail_lines))
    lines = first
    while True:
        is_last = times.is_closed or not options.follow
        for at, line in lines:
            if at < options.since:
                continue
            told = f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z ".encode() if options.timestamps else b""
            piece = (told + line)[:left]
            if left is not None:
                left -= len(piece)
            yield piece
            if left == 0:
                return
        if is_last and reader.position >= times.size:
            return
        await asyncio.sleep(LOOK_SECONDS)
        lines = reader.read()


class _Reader:
    """Reads on where it was."""

    def __init__(self, times: LogTimes) -> None:
        self._times = times
        self.position = 0

    def read(self) -> Iterator[tuple[datetime, bytes]]:
        """Whole lines that have a time; at the end of the log what has no line feed too."""
        is_closed, size = self._times.is_closed, self._times.size
        if size <= self.position:
            return
        with self._times.path.open("rb") as file:
            file.seek(self.position)
            while self.position < size and (line := file.readline(size - self.position)):
                if not line.endswith(b"\n") and not is_closed:
                    return
                self.position += len(line)
                yield self._times.time_of(self.position), line
