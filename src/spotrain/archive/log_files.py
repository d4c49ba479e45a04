"""A worker's kept output: segments that are filled one after the other, the oldest dropped whole.

A segment begins with a line of its own, `{"cursors": {<pod's uid>: [at, lines]}, "dropped": n}`:
how far each pod's log was kept by then, and how many bytes of this worker are gone. With the lines
below it that says where to read on, whatever became of older segments.
"""

import logging
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from spotrain.archive import json_lines, layout
from spotrain.archive.ledger_files import read_jobs
from spotrain.archive.log_lines import Cursor
from spotrain.archive.records import LogLine, read_record, to_document
from spotrain.archive.retention import Retention, logs_to_drop

logger = logging.getLogger(__name__)

POD_UIDS: Final = 64
"""Cursors that a segment carries on: of so many pods of the worker, the newest."""


@dataclass(frozen=True, kw_only=True)
class LogBounds:
    """Bytes on the volume. A worker's last segment stays in any case."""

    segment: int = 4 << 20
    worker: int = 64 << 20
    job: int = 512 << 20


@dataclass
class _Open:
    """The segment that a worker writes to."""

    number: int
    size: int
    cursors: dict[str, Cursor] = field(default_factory=dict)
    dropped: int = 0


class JobLogs:
    """The one writer of a job's logs. Raises OSError; the same may be appended again then."""

    def __init__(self, folder: Path, bounds: LogBounds) -> None:
        self._folder = folder
        self._bounds = bounds
        self._sizes = segment_sizes(folder)
        """(worker, number) -> bytes."""
        self._open: dict[int, _Open] = {}

    def cursor(self, worker: int, pod_uid: str) -> Cursor:
        """How far the log of a pod is kept."""
        return self._of(worker).cursors.get(pod_uid, Cursor())

    def append(self, worker: int, lines: Iterable[LogLine]) -> None:
        """Lines of one worker, in the order of each of its pods."""
        lines = list(lines)
        if not lines:
            return
        if self._of(worker).size >= self._bounds.segment or worker not in self._workers():
            self._begin_segment(worker)
        here = self._of(worker)
        data = b"".join(json_lines.encode(to_document(line)) for line in lines)
        with open(self._path(worker, here.number), "r+b") as file:
            file.seek(here.size)
            file.truncate()  # what a full disk, or a crash, left of an earlier attempt
            file.write(data)
        here.size += len(data)
        self._sizes[worker, here.number] = here.size
        for line in lines:
            cursor = here.cursors.pop(line.pod_uid, Cursor())
            here.cursors[line.pod_uid] = cursor.advance(line.at)

    def _workers(self) -> set[int]:
        return {worker for worker, _ in self._sizes}

    def _of(self, worker: int) -> _Open:
        if worker not in self._open:
            numbers = [number for one, number in self._sizes if one == worker]
            self._open[worker] = (
                _reopen(self._path(worker, max(numbers)), max(numbers))
                if numbers
                else _Open(number=0, size=0)
            )
        return self._open[worker]

    def _begin_segment(self, worker: int) -> None:
        before = self._of(worker)
        self._make_room(worker)
        kept = dict(list(before.cursors.items())[-POD_UIDS:])
        here = _Open(before.number + 1, 0, kept, before.dropped)
        head = {
            "cursors": {uid: [cursor.at, cursor.lines] for uid, cursor in kept.items()},
            "dropped": here.dropped,
        }
        path = self._path(worker, here.number)
        json_lines.replace(path, [head])
        here.size = path.stat().st_size
        self._open[worker] = here
        self._sizes[worker, here.number] = here.size

    def _make_room(self, worker: int) -> None:
        """Before a segment more: the worker's oldest go, then the job's largest worker's."""
        while (victim := choose_victim(self._sizes, worker, self._bounds)) is not None:
            self._path(*victim).unlink(missing_ok=True)
            self._of(victim[0]).dropped += self._sizes.pop(victim)

    def _path(self, worker: int, number: int) -> Path:
        return self._folder / layout.segment_file(worker, number)


def choose_victim(
    sizes: Mapping[tuple[int, int], int], worker: int, bounds: LogBounds
) -> tuple[int, int] | None:
    """The segment that must go so that `worker` can have one more; never anybody's last."""
    totals: dict[int, int] = {}
    for (one, _), size in sizes.items():
        totals[one] = totals.get(one, 0) + size
    oldest = {one: min(number for w, number in sizes if w == one) for one in totals}
    last = {one: max(number for w, number in sizes if w == one) for one in totals}
    spare = [one for one in totals if oldest[one] < last[one]]
    if worker in spare and totals[worker] + bounds.segment > bounds.worker:
        return worker, oldest[worker]
    if spare and sum(totals.values()) + bounds.segment > bounds.job:
        largest = max(spare, key=lambda one: totals[one])
        return largest, oldest[largest]
    return None


def segment_sizes(folder: Path) -> dict[tuple[int, int], int]:
    """(worker, number) -> bytes, of all segments in the folder of a job."""
    found = {}
    try:
        files = list(folder.iterdir())
    except FileNotFoundError:
        return {}
    for file in files:
        if segment := layout.parse_segment(file.name):
            try:
                found[segment] = file.stat().st_size
            except FileNotFoundError:
                continue  # dropped meanwhile
    return found


def drop_logs(folder: Path, retention: Retention, busy: frozenset[str] = frozenset()) -> None:
    """Remove what is kept no longer, of the archive below `folder`."""
    jobs = read_jobs(folder).values()
    places = {job.uid: folder / layout.logs_folder(job.name, job.uid) for job in jobs}
    sizes = {uid: sum(segment_sizes(place).values()) for uid, place in places.items()}
    kept = {uid: size for uid, size in sizes.items() if size}
    for job in logs_to_drop(jobs, kept, retention, datetime.now(UTC), busy=busy):
        logger.info("the logs of %s, which ended %s, are removed", job.name, job.ended_at)
        shutil.rmtree(places[job.uid])


def _reopen(path: Path, number: int) -> _Open:
    """As an earlier process left it."""
    here = _Open(number=number, size=0)
    with open(path, "rb") as file:
        for text in file:
            if not text.endswith(b"\n"):
                break
            here.size += len(text)
            document = json_lines.decode(text) or {}
            if "cursors" in document:
                here.cursors = {uid: Cursor(*told) for uid, told in document["cursors"].items()}
                here.dropped = document.get("dropped", 0)
            elif line := read_line(document):
                cursor = here.cursors.pop(line.pod_uid, Cursor())
                here.cursors[line.pod_uid] = cursor.advance(line.at)
    return here


def read_line(document: dict[str, Any]) -> LogLine | None:
    """None: the document is no line of a log."""
    try:
        return read_record(LogLine, document)
    except ValueError:
        return None
