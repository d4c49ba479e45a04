"""Reading kept output: all workers of a job as one stream in time order, on and on if asked."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotrain.archive import json_lines
from spotrain.archive.layout import segment_file
from spotrain.archive.log_files import read_line, segment_sizes
from spotrain.archive.records import LogLine


@dataclass(frozen=True, kw_only=True)
class LogQuery:
    """Which lines are wanted; times as in `LogLine.at`, empty: no limit."""

    worker: int | None = None
    since: str = ""
    """Not before it."""
    until: str = ""
    """Before it."""

    def wants(self, line: LogLine) -> bool:
        return line.at >= self.since and not (self.until and line.at >= self.until)


EVERYTHING: Final = LogQuery()


class LogReader:
    """Usage: `for line in reader.read()`, again and again: each time what is new."""

    def __init__(self, folder: Path, query: LogQuery) -> None:
        self._folder = folder
        self._query = query
        self._read: dict[tuple[int, int], int] = {}
        """(worker, number) of a segment -> bytes that were read of it."""

    def read(self) -> Iterator[LogLine]:
        """In time order among all that is new. Raises OSError."""
        workers: dict[int, list[int]] = {}
        for (worker, number), size in sorted(segment_sizes(self._folder).items()):
            wanted = self._query.worker in (None, worker)
            if wanted and size > self._read.get((worker, number), 0):
                workers.setdefault(worker, []).append(number)
        streams = [self._of_worker(worker, numbers) for worker, numbers in workers.items()]
        return heapq.merge(*streams, key=lambda line: line.at)

    def _of_worker(self, worker: int, numbers: list[int]) -> Iterator[LogLine]:
        for number in numbers:
            yield from self._of_segment(worker, number)

    def _of_segment(self, worker: int, number: int) -> Iterator[LogLine]:
        begin = self._read.get((worker, number), 0)
        try:
            file = (self._folder / segment_file(worker, number)).open("rb")
        except FileNotFoundError:
            return  # dropped meanwhile
        with file:
            file.seek(begin)
            for text in file:
                if not text.endswith(b"\n"):
                    break  # still being written
                begin += len(text)
                self._read[worker, number] = begin
                line = read_line(json_lines.decode(text) or {})
                if line and self._query.wants(line):
                    yield line
