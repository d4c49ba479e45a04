"""Writes down what the jobs' objects tell, and which nodes there are."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from spotrain.archive import layout
from spotrain.archive.file_work import FileWork
from spotrain.archive.ledger_files import LedgerFiles, read_jobs
from spotrain.archive.news import Snapshot, read_job
from spotrain.archive.records import JobRecord
from spotrain.archive.retention import DEFAULT, Retention, ledger_horizon, ledgers_to_drop
from spotrain.archive.sources import read_node
from spotrain.controller.kube import Kube
from spotrain.controller.mirror import Mirror, Name
from spotrain.counts import count
from spotrain.kinds import JOBS, NODES
from spotrain.ledger.entries import GapEntry, NodeEntry

logger = logging.getLogger(__name__)

TRY_AGAIN_SECONDS: Final = 5.0
ALIVE_SECONDS: Final = 60.0
SWEEP_SECONDS: Final = 3600.0


class LedgerKeeper:
    """Usage: `await LedgerKeeper(kube, namespace, folder, files).run()`.

    `files` must have one thread: then what is written is written in order, and a volume that hangs
    only makes the newest state of each job wait.
    """

    def __init__(
        self,
        kube: Kube,
        namespace: str,
        folder: Path,
        files: FileWork,
        retention: Retention = DEFAULT,
    ) -> None:
        self._retention = retention
        self._kube = kube
        self._folder = folder
        self._files = files
        self._jobs = Mirror[Snapshot](
            kind=JOBS, namespace=namespace, parse=read_job, changed=self._job_changed
        )
        self._nodes = Mirror[NodeEntry](kind=NODES, parse=read_node, changed=self._node_changed)
        self._waiting: dict[str, Snapshot | NodeEntry] = {}
        """Uid -> what is to be written down of it."""
        self._wake = asyncio.Event()

    @property
    def is_synced(self) -> bool:
        return self._jobs.synced.is_set()

    async def run(self) -> None:
        """Never returns. Raises OSError where what is written down cannot be read at all."""
        writer = await self._files.run_to_end(LedgerFiles, self._folder)
        alive_until = await self._files.run_to_end(_last_alive, self._folder)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._jobs.follow(self._kube))
            group.create_task(self._nodes.follow(self._kube))
            group.create_task(self._close_what_went(writer))
            group.create_task(self._note_nodes_that_went(writer, alive_until))
            group.create_task(self._write(writer))
            group.create_task(self._stay_alive())
            group.create_task(self._forget_old_ones(writer))

    # --- What the watches say ---

    def _job_changed(self, _name: Name, old: Snapshot | None, new: Snapshot | None) -> None:
        if old and (new is None or new.job.uid != old.job.uid):
            self._put(old.job.uid, _deleted(old))
        if new:
            self._put(new.job.uid, new)

    def _node_changed(self, _name: Name, old: NodeEntry | None, new: NodeEntry | None) -> None:
        if old and (new is None or new.uid != old.uid):
            self._put(old.uid, replace(old, gone_at=datetime.now(UTC)))
        if new:
            self._put(new.uid, new)

    def _put(self, uid: str, what: Snapshot | NodeEntry) -> None:
        self._waiting[uid] = what
        self._wake.set()

    # --- What is written ---

    async def _write(self, writer: LedgerFiles) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                uid, what = next(iter(self._waiting.items()))
                await self._insist(_write_down, writer, what)
                if self._waiting.get(uid) == what:
                    del self._waiting[uid]

    async def _close_what_went(self, writer: LedgerFiles) -> None:
        """Jobs that were deleted while nobody looked."""
        await self._jobs.synced.wait()
        here = {snapshot.job.uid for snapshot in self._jobs.items.values()}
        now = datetime.now(UTC)
        for job in await self._files.run_to_end(lambda: writer.open_jobs):
            if job.uid not in here:
                logger.warning("job %s was deleted while the archive was away", job.name)
                self._put(job.uid, Snapshot(job=_closed(job, now), entries=()))

    async def _note_nodes_that_went(self, writer: LedgerFiles, alive_until: datetime) -> None:
        """Nodes that went while nobody looked: when, only the gap tells."""
        await self._nodes.synced.wait()
        here, now = {node.uid for node in self._nodes.items.values()}, datetime.now(UTC)
        open_nodes = await self._files.run_to_end(lambda: writer.open_nodes)
        gone = [node for node in open_nodes if node.uid not in here]
        if gone:
            gap = GapEntry(
                of="node",
                since=alive_until,
                until=now,
                message=f"{count(len(gone), 'node')} went while the archive was away.",
            )
            await self._insist(writer.note_gap, gap)
        for node in gone:
            self._put(node.uid, replace(node, gone_at=now))

    async def _stay_alive(self) -> None:
        while True:
            await self._insist((self._folder / layout.ALIVE_FILE).touch)
            await asyncio.sleep(ALIVE_SECONDS)

    async def _forget_old_ones(self, writer: LedgerFiles) -> None:
        while True:
            await self._insist(_forget, self._folder, writer, self._retention)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _insist(self, work: Callable[..., None], *arguments: Any) -> None:
        """A full or broken volume loses nothing: the same again until it is done."""
        while True:
            try:
                return await self._files.run_to_end(work, *arguments)
            except OSError as error:
                logger.error("the ledger cannot be written: %s; trying again", error)
                await asyncio.sleep(TRY_AGAIN_SECONDS)


def _write_down(writer: LedgerFiles, what: Snapshot | NodeEntry) -> None:
    if isinstance(what, NodeEntry):
        return writer.keep_node(what)
    writer.keep(what, datetime.now(UTC))
    if what.job.deleted_at is not None:
        writer.close(what.job)


def _forget(folder: Path, writer: LedgerFiles, retention: Retention) -> None:
    now = datetime.now(UTC)
    horizon = ledger_horizon(retention, now)
    if horizon is None:
        return
    old = ledgers_to_drop(read_jobs(folder).values(), retention, now)
    if old:
        logger.info("forgetting the ledgers of %d jobs, the last %s", len(old), old[-1].name)
    writer.drop(old, nodes_before=horizon)


def _deleted(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, job=_closed(snapshot.job, datetime.now(UTC)))


def _closed(job: JobRecord, now: datetime) -> JobRecord:
    return replace(
        job, outcome=job.outcome or "deleted", ended_at=job.ended_at or now, deleted_at=now
    )


def _last_alive(folder: Path) -> datetime:
    """Until when an earlier keeper has looked; now where there was none."""
    file = folder / layout.ALIVE_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except FileNotFoundError:
        return datetime.now(UTC)
