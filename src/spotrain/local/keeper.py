"""Keeps what a job of this machine did and printed, in the files that a cluster's archive has."""

import asyncio
import fcntl
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from spotrain.archive import layout
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.log_files import JobLogs, LogBounds, drop_logs
from spotrain.archive.news import Snapshot, read_job
from spotrain.archive.records import LogLine
from spotrain.archive.retention import DEFAULT
from spotrain.ledger.entries import NodeEntry

logger = logging.getLogger(__name__)

TRY_AGAIN_SECONDS: Final = 2.0
METRICS: Final = timedelta(seconds=1)
"""Between two of a job's metrics: what runs on one machine is over in minutes, and has a curve."""
MOST_WAITING: Final = 50_000
"""Lines that are not written yet; beyond it nobody reads on."""


class Keeper:
    """Usage: `async with keeper.keeping(): keeper.see_job(...)`. The one writer of this job.

    What is told is written in order, by a thread: a slow disk holds up no world.
    """

    def __init__(self, folder: Path, name: str, uid: str) -> None:
        self._folder = folder
        self._uid = uid
        self._logs = JobLogs(folder / layout.logs_folder(name, uid), LogBounds())
        self._ledger: LedgerFiles | None = None
        self._last: Snapshot | None = None
        self._seen: dict[str, Snapshot | NodeEntry] = {}
        """Uid -> what is to be written down of it."""
        self._lines: dict[int, list[LogLine]] = defaultdict(list)
        """Worker -> what is to be written down of its output."""
        self._news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_closing = False
        self._is_abandoned = False

    @asynccontextmanager
    async def keeping(self, *, last_alive: datetime | None = None) -> AsyncIterator[None]:
        """All that was told is on the disk when it is left. `last_alive`: when whoever ran the job
        before was seen last; its nodes went with it. Raises OSError where nothing can be read."""
        self._ledger = await asyncio.to_thread(self._open, last_alive)
        writing = asyncio.create_task(self._write_on())
        try:
            yield
        finally:
            self._is_closing = True
            self._news.set()
            await writing

    def see_job(self, document: Mapping[str, Any]) -> None:
        """As the API server would hand it out."""
        snapshot = read_job(document)
        if snapshot != self._last:
            self._last = snapshot
            self._put(snapshot.job.uid, snapshot)

    def see_node(self, node: NodeEntry) -> None:
        self._put(node.uid, node)

    async def take(self, worker: int, pod: str, pod_uid: str, lines: list[str]) -> None:
        """What a worker has just printed. Returns when there is room for more."""
        if self._is_abandoned:
            return
        at = stamp(time.time_ns())
        self._lines[worker] += [
            LogLine(at=at, worker=worker, pod=pod, pod_uid=pod_uid, line=line) for line in lines
        ]
        if sum(map(len, self._lines.values())) > MOST_WAITING:
            self._has_room.clear()
        self._news.set()
        await self._has_room.wait()

    def abandon(self) -> None:
        """Its folder was removed: what waits is dropped, and what comes is not taken any more."""
        self._is_abandoned = True
        self._seen.clear()
        self._lines.clear()
        self._has_room.set()

    def _put(self, uid: str, what: Snapshot | NodeEntry) -> None:
        if self._is_abandoned:
            return
        self._seen[uid] = what
        self._news.set()

    async def _write_on(self) -> None:
        is_last = False
        while not is_last:
            await self._news.wait()
            self._news.clear()
            is_last = self._is_closing
            try:
                await self._write_all()
            except OSError as error:
                logger.error("what the job does cannot be written down: %s", error)
                if not is_last:
                    await asyncio.sleep(TRY_AGAIN_SECONDS)
                    self._news.set()

    async def _write_all(self) -> None:
        """What cannot be written stays. Raises OSError."""
        for uid, what in list(self._seen.items()):
            await asyncio.to_thread(self._write_down, what)
            if self._seen.get(uid) is what:
                del self._seen[uid]
        for worker in list(self._lines):
            lines = list(self._lines[worker])
            await asyncio.to_thread(self._logs.append, worker, lines)
            del self._lines[worker][: len(lines)]
            self._has_room.set()

    def _open(self, last_alive: datetime | None) -> LedgerFiles:
        with locked(self._folder):
            ledger = LedgerFiles(self._folder, metrics=METRICS)
            end_loose_nodes(ledger, self._uid, last_alive or datetime.now(UTC))
            forget_old_logs(self._folder, busy=self._uid)
            return ledger

    def _write_down(self, what: Snapshot | NodeEntry) -> None:
        assert self._ledger
        with locked(self._folder):
            if isinstance(what, NodeEntry):
                self._ledger.keep_node(what)
            else:
                self._ledger.keep(what, datetime.now(UTC))


def close_job(folder: Path, document: Mapping[str, Any], last_alive: datetime) -> None:
    """The job is deleted; nobody runs it any more. Raises OSError."""
    now = datetime.now(UTC)
    with locked(folder):
        ledger, snapshot = LedgerFiles(folder), read_job(document, gone_at=now)
        end_loose_nodes(ledger, snapshot.job.uid, last_alive)
        ledger.keep(snapshot, now)
        ledger.close(snapshot.job)


def forget_old_logs(folder: Path, *, busy: str) -> None:
    """Nothing but jobs runs all the time here, so each makes room when it begins.

    `busy`: uid of the job that is about to write. Another that has ended and still writes its last
    lines could lose them, if it is the one whose logs go.
    """
    try:
        drop_logs(folder, DEFAULT, frozenset({busy}))
    except OSError as error:
        logger.error("old logs cannot be removed: %s; the next job tries again", error)


def end_loose_nodes(ledger: LedgerFiles, job_uid: str, at: datetime) -> None:
    """Nodes of a job whose process was killed went with it."""
    for node in ledger.open_nodes:
        if node.uid.startswith(f"{job_uid}-"):
            ledger.keep_node(replace(node, gone_at=max(at, node.created_at)))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Jobs have processes of their own, and write files that all of them share."""
    path = folder / layout.LOCK_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def stamp(nanoseconds: int) -> str:
    """Since 1970, as `LogLine.at` has it."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
