"""Follows the output of every worker, and keeps it before pods and nodes are gone."""

import asyncio
import logging
from collections import defaultdict
from contextlib import aclosing
from pathlib import Path
from typing import Final

import httpx2

from spotrain.archive import layout
from spotrain.archive.file_work import FileWork
from spotrain.archive.log_files import JobLogs, LogBounds, drop_logs
from spotrain.archive.log_lines import Cursor, LineSplitter, Resumption, parse_line
from spotrain.archive.pod_log import stream_log
from spotrain.archive.records import LogLine
from spotrain.archive.retention import DEFAULT, Retention
from spotrain.archive.sources import JOB_PODS, Source, read_pod
from spotrain.controller.kube import FAULTS, Kube, NotFound
from spotrain.controller.mirror import Mirror, Name, backoff
from spotrain.kinds import PODS

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 0.5
"""Lines wait so long for others, to be written together."""
TRY_AGAIN_SECONDS: Final = 5.0
WAITING_BYTES: Final = 8 << 20
"""Of lines that are not written yet; beyond it nobody reads on."""

SWEEP_SECONDS: Final = 3600.0

Job = tuple[str, str]
"""(name, uid)"""


class LogKeeper:
    """Usage: `await LogKeeper(kube, http, namespace, folder, files).run()`.

    `http` must allow a connection for each pod; `files` must have one thread.
    """

    def __init__(
        self,
        kube: Kube,
        http: httpx2.AsyncClient,
        namespace: str,
        folder: Path,
        files: FileWork,
        bounds: LogBounds | None = None,
        retention: Retention = DEFAULT,
    ) -> None:
        self._retention = retention
        self._kube = kube
        self._http = http
        self._namespace = namespace
        self._folder = folder
        self._files = files
        self._bounds = bounds or LogBounds()
        self._pods = Mirror[Source](
            kind=PODS,
            namespace=namespace,
            selector=JOB_PODS,
            parse=read_pod,
            changed=self._changed,
        )
        self._group: asyncio.TaskGroup | None = None
        self._followed: dict[str, Source] = {}
        """Uid of a pod -> as it is known now; it stays until the pod is gone and all is read."""
        self._following: set[str] = set()
        self._logs: dict[Job, JobLogs] = {}
        self._waiting: dict[tuple[Job, int], list[LogLine]] = defaultdict(list)
        self._waiting_bytes = 0
        self._written = asyncio.Condition()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Never returns."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self._pods.follow(self._kube))
            group.create_task(self._forget_old_ones())
            await self._write()

    def _changed(self, _name: Name, old: Source | None, new: Source | None) -> None:
        if old and (new is None or new.pod_uid != old.pod_uid):
            self._followed.pop(old.pod_uid, None)
        if not new or not new.has_output:
            return
        is_known = new.pod_uid in self._followed
        self._followed[new.pod_uid] = new
        if not is_known and self._group:
            self._group.create_task(self._follow(new))

    # --- One pod ---

    async def _follow(self, source: Source) -> None:
        """Until its container has ended for good, or the pod is gone."""
        cursor = await self._cursor(source)
        pauses = backoff(0.2)
        if source.restarts:  # what ran before, perhaps while nobody looked
            cursor, _ = await self._read(source, cursor, previous=True)
        while True:
            # Asked before: what ends while the log is read is read to its end.
            here = self._followed.get(source.pod_uid)
            cursor, is_whole = await self._read(source, cursor)
            if is_whole and (here is None or here.is_over):
                return
            if source.pod_uid not in self._followed and not is_whole:
                return
            await asyncio.sleep(next(pauses))

    async def _read(
        self, source: Source, cursor: Cursor, *, previous: bool = False
    ) -> tuple[Cursor, bool]:
        """How far it is read now, and whether the log came to its end."""
        splitter, resumption = LineSplitter(), Resumption(cursor)
        pieces = stream_log(
            self._http, self._namespace, source, since=cursor.since, previous=previous
        )
        try:
            async with aclosing(pieces) as stream:
                async for piece in stream:
                    cursor = await self._take(source, splitter.feed(piece), resumption, cursor)
            cursor = await self._take(source, splitter.end(), resumption, cursor)
        except NotFound:
            return cursor, True
        except FAULTS as fault:
            logger.info("log of %s: %r", source.pod, fault, extra={"pod": source.pod})
            return cursor, False
        return cursor, True

    async def _take(
        self, source: Source, lines: list[bytes], resumption: Resumption, cursor: Cursor
    ) -> Cursor:
        for text in lines:
            if not (parsed := parse_line(text)) or not resumption.is_new(parsed[0]):
                continue
            at, said = parsed
            line = LogLine(
                at=at, worker=source.worker, pod=source.pod, pod_uid=source.pod_uid, line=said
            )
            cursor = cursor.advance(at)
            self._waiting[(source.job, source.job_uid), source.worker].append(line)
            self._waiting_bytes += len(text)
        if lines:
            self._news.set()
        async with self._written:
            await self._written.wait_for(lambda: self._waiting_bytes < WAITING_BYTES)
        return cursor

    # --- The volume ---

    async def _write(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(WRITE_SECONDS)
            self._news.clear()
            waiting, self._waiting = self._waiting, defaultdict(list)
            count = self._waiting_bytes
            for (job, worker), lines in waiting.items():
                await self._append(job, worker, lines)
            self._waiting_bytes -= count
            async with self._written:
                self._written.notify_all()

    async def _append(self, job: Job, worker: int, lines: list[LogLine]) -> None:
        """A full or broken volume loses nothing: the same again until it is done."""
        while True:
            try:
                logs = await self._logs_of(job)
                return await self._files.run_to_end(logs.append, worker, lines)
            except OSError as error:
                logger.error("logs cannot be written: %s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _cursor(self, source: Source) -> Cursor:
        while True:
            try:
                logs = await self._logs_of((source.job, source.job_uid))
                return await self._files.run_to_end(logs.cursor, source.worker, source.pod_uid)
            except OSError as error:
                logger.error("logs cannot be read: %s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_SECONDS)

    async def _forget_old_ones(self) -> None:
        """By the thread that writes, so that nothing goes that is just being written."""
        await self._pods.synced.wait()
        while True:
            busy = frozenset(
                uid
                for _, uid in (
                    *((one.job, one.job_uid) for one in self._pods.items.values()),
                    *((one.job, one.job_uid) for one in self._followed.values()),
                    *(job for job, _ in self._waiting),
                )
            )
            try:
                await self._files.run_to_end(drop_logs, self._folder, self._retention, busy)
            except OSError as error:
                logger.error("old logs cannot be removed: %s; trying again in an hour", error)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _logs_of(self, job: Job) -> JobLogs:
        if job not in self._logs:
            folder = self._folder / layout.logs_folder(*job)
            made = await self._files.run_to_end(JobLogs, folder, self._bounds)
            self._logs.setdefault(job, made)
            self._forget_others(job)
        return self._logs[job]

    def _forget_others(self, job: Job) -> None:
        """Of jobs without pods; they are read from the volume if they come again."""
        here = {(one.job, one.job_uid) for one in self._pods.items.values()}
        here |= {job, *(waiting for waiting, _ in self._waiting)}
        self._logs = {one: logs for one, logs in self._logs.items() if one in here}
