"""The keeper of the ledger over its deaths, and over jobs that follow each other under one name."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from spotrain.archive import json_lines, layout, ledger_keeper
from spotrain.archive.file_work import FileWork
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_keeper import LedgerKeeper
from spotrain.archive.records import JobRecord
from spotrain.controller.kube import Gone, Kube
from spotrain.kinds import JOBS, Kind, Object
from spotrain.ledger.entries import AnyEntry
from tests.archive.entries import job_object, stay, world

LIMIT_SECONDS = 20.0


@dataclass
class Cluster:
    """An API server that tells of jobs, and has no nodes."""

    jobs: list[Object] = field(default_factory=list)
    news: asyncio.Queue[tuple[str, Object] | Gone] = field(default_factory=asyncio.Queue)

    async def list_all(
        self, kind: Kind, _namespace: str = "", *, selector: object
    ) -> tuple[list[Object], str]:
        return (self.jobs if kind is JOBS else []), "1"

    async def watch(
        self, kind: Kind, _namespace: str, _version: str, *, selector: object
    ) -> AsyncIterator[tuple[str, Object]]:
        while kind is JOBS:
            told = await self.news.get()
            if isinstance(told, Gone):
                raise told
            yield told
        await asyncio.Event().wait()


def job(*entries: Any, uid: str = "u1", version: int = 1, **fields: str) -> Object:
    made = job_object(*entries, uid=uid, **fields)
    made["metadata"] |= {"namespace": "team", "resourceVersion": str(version)}
    return made


@asynccontextmanager
async def keeping(cluster: Cluster, folder: Path) -> AsyncIterator[None]:
    """Until it is left, which is as sudden as a SIGKILL."""
    keeper = LedgerKeeper(cast(Kube, cluster), "team", folder, FileWork("ledger", threads=1))
    task = asyncio.create_task(keeper.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


def record(folder: Path, uid: str) -> JobRecord | None:
    return next((each for each in Folder(folder).jobs() if each.uid == uid), None)


def is_closed(folder: Path, uid: str) -> bool:
    found = record(folder, uid)
    return found is not None and found.deleted_at is not None


def entries(folder: Path, uid: str) -> set[AnyEntry]:
    return set(Folder(folder).ledger("digits", uid).entries)


def written(folder: Path, uid: str) -> list[Object]:
    return list(json_lines.read(folder / layout.ledger_file("digits", uid)))


async def test_a_job_that_follows_another_under_its_name_has_a_ledger_of_its_own(
    tmp_path: Path,
) -> None:
    cluster = Cluster([job(world(1, ended=False), stay(1, ended=False))])
    async with keeping(cluster, tmp_path):
        last = job(world(1), stay(1), version=2)
        cluster.news.put_nowait(("MODIFIED", last))
        cluster.news.put_nowait(("DELETED", last))
        cluster.news.put_nowait(("ADDED", job(world(1, ended=False), uid="u2", version=4)))
        await until(lambda: is_closed(tmp_path, "u1") and record(tmp_path, "u2") is not None)
    assert entries(tmp_path, "u1") == {world(1), stay(1)}
    assert entries(tmp_path, "u2") == {world(1, ended=False)}
    assert not is_closed(tmp_path, "u2")


async def test_a_job_that_was_made_again_while_the_watch_was_broken_is_another_one(
    tmp_path: Path,
) -> None:
    cluster = Cluster([job(world(1, ended=False))])
    async with keeping(cluster, tmp_path):
        await until(lambda: record(tmp_path, "u1") is not None)
        cluster.jobs = [job(world(1), uid="u2", version=9)]
        cluster.news.put_nowait(Gone(410, "too old"))
        await until(lambda: is_closed(tmp_path, "u1") and record(tmp_path, "u2") is not None)
    assert {entry.kind for entry in entries(tmp_path, "u1")} == {"world", "gap"}
    assert entries(tmp_path, "u2") == {world(1)}


async def test_a_job_that_was_made_again_while_the_archive_was_away_is_another_one(
    tmp_path: Path,
) -> None:
    async with keeping(Cluster([job(world(1, ended=False))]), tmp_path):
        await until(lambda: record(tmp_path, "u1") is not None)
    async with keeping(Cluster([job(world(1), uid="u2", version=9)]), tmp_path):
        await until(lambda: is_closed(tmp_path, "u1") and record(tmp_path, "u2") is not None)
    assert {entry.kind for entry in entries(tmp_path, "u1")} == {"world", "gap"}
    assert entries(tmp_path, "u2") == {world(1)}


async def test_what_was_heard_and_not_written_when_the_archive_died_is_written_once_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster([job(world(1, ended=False))])
    tried = asyncio.Event()
    loop = asyncio.get_running_loop()

    def full(_path: Path, _documents: object) -> None:
        loop.call_soon_threadsafe(tried.set)
        raise OSError(28, "No space left on device")

    async with keeping(cluster, tmp_path):
        await until(lambda: record(tmp_path, "u1") is not None)
        with monkeypatch.context() as patched:
            patched.setattr(ledger_keeper, "TRY_AGAIN_SECONDS", 1000.0)
            patched.setattr(json_lines, "append", full)
            cluster.news.put_nowait(("MODIFIED", job(world(1), world(2), version=2)))
            async with asyncio.timeout(LIMIT_SECONDS):
                await tried.wait()
    assert entries(tmp_path, "u1") == {world(1, ended=False)}
    now = job(world(1), world(2), world(3), condition="Succeeded", version=3)
    async with keeping(Cluster([now]), tmp_path):
        await until(lambda: len(written(tmp_path, "u1")) >= 4)
    async with keeping(Cluster([now, job(name="words", uid="u2")]), tmp_path):
        await until(lambda: record(tmp_path, "u2") is not None)  # one after the other
    assert entries(tmp_path, "u1") == {world(1), world(2), world(3)}
    assert [line["number"] for line in written(tmp_path, "u1")] == [1, 1, 2, 3]
