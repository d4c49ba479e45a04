"""What the archive of this machine keeps, and what it keeps no longer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spotrain.archive import layout
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.log_files import JobLogs, LogBounds
from spotrain.archive.news import Snapshot
from spotrain.archive.records import JobRecord, LogLine
from spotrain.local.keeper import Keeper

NOW = datetime.now(UTC)
LINE = LogLine(at="2026-01-01T00:00:00.000000000Z", worker=0, pod="w", pod_uid="p", line="said")


def leave(folder: Path, name: str, ended_days: float | None) -> Path:
    """A job that ended so long ago, with a log; None: it has not. Returns where its log is."""
    ended = None if ended_days is None else NOW - timedelta(days=ended_days)
    job = JobRecord(
        name=name,
        uid=f"uid-{name}",
        created_at=NOW - timedelta(days=99),
        ended_at=ended,
        outcome="succeeded" if ended else "",
    )
    LedgerFiles(folder).keep(Snapshot(job=job, entries=()), NOW)
    logs = folder / layout.logs_folder(job.name, job.uid)
    JobLogs(logs, LogBounds()).append(0, [LINE])
    return logs


async def test_a_job_that_begins_makes_room_of_logs_whose_time_is_over(tmp_path: Path) -> None:
    old, young = leave(tmp_path, "old", 31), leave(tmp_path, "young", 29)
    stopped = leave(tmp_path, "stopped", None)
    async with Keeper(tmp_path, "new", "uid-new").keeping():
        pass
    assert [logs.exists() for logs in (old, young, stopped)] == [False, True, True]
    assert {job.name for job in Folder(tmp_path).jobs()} == {"old", "young", "stopped"}


async def test_a_job_that_goes_on_keeps_its_own(tmp_path: Path) -> None:
    own = leave(tmp_path, "own", 31)
    keeper = Keeper(tmp_path, "own", "uid-own")
    async with keeper.keeping():
        await keeper.take(0, "w", "p", ["more"])
    assert own.exists()
    assert [line.line for line in Folder(tmp_path).logs("own")] == ["said", "more"]


async def test_logs_that_cannot_be_removed_keep_no_job_from_running(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = leave(tmp_path, "old", 31)
    real = old.rename(tmp_path / "elsewhere")
    old.symlink_to(real)  # which shutil.rmtree refuses
    async with Keeper(tmp_path, "new", "uid-new").keeping():
        pass
    assert "old logs cannot be removed" in caplog.text
