"""What the archive keeps no longer: logs by age and by all that there are, ledgers on request."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.archive import layout
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles, read_nodes
from spotrain.archive.log_files import JobLogs, LogBounds, drop_logs
from spotrain.archive.news import Snapshot
from spotrain.archive.records import JobRecord, LogLine
from spotrain.archive.retention import GIB, Retention, ledgers_to_drop, logs_to_drop
from spotrain.ledger.entries import NodeEntry, Place

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def record(name: str, *, ended_days: float | None = None, gone: bool = False) -> JobRecord:
    at = None if ended_days is None else NOW - ended_days * DAY
    return JobRecord(
        name=name,
        uid=f"uid-{name}",
        created_at=NOW - 500 * DAY,
        ended_at=at,
        outcome="succeeded" if at else "",
        deleted_at=at if gone else None,
    )


def dropped(jobs: list[JobRecord], **keeping: int) -> list[str]:
    sizes = {job.uid: GIB for job in jobs}
    return [job.name for job in logs_to_drop(jobs, sizes, Retention(**keeping), NOW)]


def test_logs_go_by_their_jobs_end() -> None:
    jobs = [record("new", ended_days=29), record("old", ended_days=31), record("runs")]
    assert dropped(jobs) == ["old"]


def test_of_too_much_the_job_that_ended_first_goes_first_and_none_that_runs() -> None:
    jobs = [record("b", ended_days=2), record("a", ended_days=9), record("runs")]
    assert dropped(jobs, logs_gib=2) == ["a"]
    assert dropped(jobs, logs_gib=1) == ["a", "b"]


def test_a_job_that_still_has_pods_keeps_its_logs() -> None:
    jobs = [record("old", ended_days=99)]
    kept = logs_to_drop(jobs, {"uid-old": 1}, Retention(), NOW, busy=frozenset({"uid-old"}))
    assert kept == []


@given(st.lists(st.tuples(st.none() | st.integers(0, 60), st.integers(0, 9)), max_size=9))
def test_what_is_left_is_young_and_fits_or_has_not_ended(
    jobs: list[tuple[int | None, int]],
) -> None:
    records = [record(f"j{n}", ended_days=days) for n, (days, _) in enumerate(jobs)]
    sizes = {job.uid: size * GIB for job, (_, size) in zip(records, jobs, strict=True)}
    gone = set(logs_to_drop(records, sizes, Retention(logs_gib=8), NOW))
    left = [job for job in records if job not in gone]
    assert all(job.ended_at is None or job.ended_at >= NOW - 30 * DAY for job in left)
    fits = sum(sizes[job.uid] for job in left) <= 8 * GIB
    assert fits or all(job.ended_at is None for job in left)
    assert all(job.ended_at for job in gone)


def keep(folder: Path, *jobs: JobRecord) -> LedgerFiles:
    """With a line of output each."""
    files = LedgerFiles(folder)
    for job in jobs:
        files.keep(Snapshot(job=job, entries=()), NOW)
        if job.deleted_at is not None:
            files.close(job)
        logs = JobLogs(folder / layout.logs_folder(job.name, job.uid), LogBounds())
        at = "2026-08-01T12:00:00.000000000Z"
        logs.append(0, [LogLine(at=at, worker=0, pod="pod", pod_uid="p", line="hello")])
    return files


def test_the_logs_on_the_volume_go_and_the_ledger_stays(tmp_path: Path) -> None:
    old, new = record("old", ended_days=31), record("new", ended_days=1)
    keep(tmp_path, old, new)
    for _ in range(2):
        drop_logs(tmp_path, Retention())
        assert [each.name for each in (tmp_path / layout.LOGS).iterdir()] == ["new-uid-new"]
    assert [job.name for job in Folder(tmp_path).jobs()] == ["new", "old"]


def node(name: str, gone_days: float | None) -> NodeEntry:
    return NodeEntry(
        name=name,
        uid=name,
        place=Place(pool="t4", zone="a", capacity="spot"),
        gpus=1,
        created_at=NOW - 500 * DAY,
        gone_at=None if gone_days is None else NOW - gone_days * DAY,
    )


def test_ledgers_go_where_somebody_says_so_and_only_of_jobs_that_are_gone(tmp_path: Path) -> None:
    jobs = [
        record("old", ended_days=500, gone=True),
        record("kept", ended_days=500),
        record("young", ended_days=3, gone=True),
    ]
    files = keep(tmp_path, *jobs)
    for each in (node("n1", 450), node("n2", 2), node("n3", None)):
        files.keep_node(each)
    assert ledgers_to_drop(jobs, Retention(), NOW) == []
    old = ledgers_to_drop(jobs, Retention(ledger_days=400), NOW)
    for _ in range(2):
        files.drop(old, nodes_before=NOW - 400 * DAY)
        for reader in (Folder(tmp_path), Folder(tmp_path)):
            assert {job.name for job in reader.jobs()} == {"kept", "young"}
    assert [each.name for each in read_nodes(tmp_path)] == ["n2", "n3"]
    assert not (tmp_path / layout.ledger_file("old", "uid-old")).exists()
    files.keep_node(node("n3", 0))
    assert len(read_nodes(tmp_path)) == 2


@pytest.mark.parametrize("days", [None, 400])
def test_a_job_that_is_there_is_never_forgotten(days: int | None) -> None:
    assert ledgers_to_drop([record("a", ended_days=9999)], Retention(ledger_days=days), NOW) == []
