"""The ledger on the volume: every entry once, the last word counts, a crash costs nothing."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotrain.archive import json_lines, layout
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.news import KEPT_IN_STATUS, Snapshot, read_job
from spotrain.ledger.entries import (
    AnyEntry,
    GapEntry,
    MetricsEntry,
    NodeEntry,
    Place,
    WorldEntry,
    from_document,
    to_document,
)
from tests.archive.entries import at, job_object, snapshot, stay, world
from tests.cli import documents

FILE = layout.ledger_file("digits", "u1")
NOW = at(10_000)


def kept(folder: Path) -> tuple[AnyEntry, ...]:
    return Folder(folder).ledger("digits").entries


def gaps(folder: Path) -> list[GapEntry]:
    return [entry for entry in kept(folder) if isinstance(entry, GapEntry)]


def test_what_is_told_again_is_not_written_again(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    told = snapshot(world(1), stay(1))
    files.keep(told, NOW)
    size = (tmp_path / FILE).stat().st_size
    files.keep(told, NOW)
    LedgerFiles(tmp_path).keep(told, NOW)  # after a restart
    assert (tmp_path / FILE).stat().st_size == size
    assert set(kept(tmp_path)) == {world(1), stay(1)}


def test_the_last_word_on_a_world_counts(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(world(1, ended=False)), NOW)
    files.keep(snapshot(world(1)), NOW)
    assert kept(tmp_path) == (world(1),)


def test_progress_alone_is_written_every_five_minutes(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    running = world(1, ended=False)
    for second in range(0, 601, 15):
        files.keep(snapshot(replace(running, last_step=second)), at(second))
    assert [line.get("lastStep") for line in json_lines.read(tmp_path / FILE)] == [0, 300, 600]


def test_what_a_pod_moves_is_written_every_five_minutes_and_when_it_ends(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    running = stay(1, ended=False)
    for second in range(0, 451, 15):
        files.keep(snapshot(replace(running, read_bytes=second)), at(second))
    files.keep(snapshot(replace(stay(1), read_bytes=450)), at(451))
    assert [line.get("readBytes") for line in json_lines.read(tmp_path / FILE)] == [0, 300, 450]


def test_an_entry_of_an_earlier_version_says_nothing_of_what_was_moved() -> None:
    told = {key: value for key, value in to_document(stay(1)).items() if "Bytes" not in key}
    assert from_document(told) == stay(1)


def test_the_jobs_least_workers_are_written_down(tmp_path: Path) -> None:
    spec: dict[str, Any] = {"minReplicas": 3, "maxReplicas": 4}
    told = {**documents.job("digits", **spec), "metadata": job_object()["metadata"]}
    LedgerFiles(tmp_path).keep(read_job(told), NOW)
    assert Folder(tmp_path).job("digits").min_workers == 3
    assert snapshot().job.min_workers is None


def test_a_line_torn_by_a_crash_is_cut_and_written_again(tmp_path: Path) -> None:
    LedgerFiles(tmp_path).keep(snapshot(world(1), world(2)), NOW)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-20])
    assert kept(tmp_path) == (world(1),)
    LedgerFiles(tmp_path).keep(snapshot(world(1), world(2), world(3)), NOW)
    assert kept(tmp_path) == (world(1), world(2), world(3))


@settings(max_examples=40)
@given(cuts=st.lists(st.integers(1, 400), max_size=6), extra=st.integers(0, 3))
def test_wherever_the_process_dies_the_next_one_completes_the_ledger(
    cuts: list[int], extra: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    worlds = [world(number) for number in range(1, len(cuts) + extra + 2)]
    for number, cut in enumerate(cuts, 1):
        LedgerFiles(folder).keep(snapshot(*worlds[:number]), NOW)
        path = folder / FILE
        path.write_bytes(path.read_bytes()[:-cut])
    LedgerFiles(folder).keep(snapshot(*worlds), NOW)
    assert kept(folder) == tuple(worlds)


def test_worlds_that_the_status_had_forgotten_are_a_gap(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(world(1), world(2)), NOW)
    later = [world(number) for number in range(10, 10 + KEPT_IN_STATUS)]
    files.keep(snapshot(*later), NOW)
    files.keep(snapshot(*later), NOW)
    (gap,) = gaps(tmp_path)
    assert (gap.of, gap.since, gap.until) == ("world", world(2).ended_at, world(10).published_at)
    assert "worlds 3 to 9" in gap.message


def test_a_number_that_no_world_had_is_no_gap(tmp_path: Path) -> None:
    LedgerFiles(tmp_path).keep(snapshot(world(1), world(4)), NOW)
    assert gaps(tmp_path) == []


def test_a_stay_whose_end_the_status_has_forgotten_is_a_gap(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(stay(1, ended=False), stay(2, ended=False)), NOW)
    files.keep(snapshot(stay(2)), NOW)
    (gap,) = gaps(tmp_path)
    assert (gap.of, gap.since, gap.until) == ("stay", stay(1).created_at, stay(2).ended_at)


def test_a_full_status_of_unknown_stays_is_a_gap(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(stay(1)), NOW)
    files.keep(snapshot(*(stay(n) for n in range(5, 5 + KEPT_IN_STATUS))), NOW)
    (gap,) = gaps(tmp_path)
    assert (gap.of, gap.since, gap.until) == ("stay", stay(1).ended_at, stay(5).ended_at)


def test_a_deleted_jobs_ledger_is_compact_and_names_what_never_ended(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(world(1, ended=False)), NOW)
    last = read_job(job_object(world(1), stay(1, ended=False)), gone_at=NOW)
    files.keep(last, NOW)
    files.close(last.job)
    lines = list(json_lines.read(tmp_path / FILE))
    assert [line["kind"] for line in lines] == ["world", "stay", "gap"]
    job = Folder(tmp_path).job("digits")
    assert (job.outcome, job.ended_at, job.deleted_at) == ("deleted", NOW, NOW)
    assert LedgerFiles(tmp_path).open_jobs == []


@pytest.mark.parametrize("was_seen_before", [True, False])
def test_who_dies_while_a_job_is_closed_leaves_it_open_to_be_closed(
    was_seen_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody would ever tell that the end of its worlds and pods is not known."""
    files = LedgerFiles(tmp_path)
    present = job_object(world(1, ended=False), stay(1, ended=False))
    if was_seen_before:
        files.keep(read_job(present), NOW)
    last = read_job(present, gone_at=NOW)

    def dies(_path: Path, _documents: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(json_lines, "replace", dies)
        files.keep(last, NOW)
        with pytest.raises(OSError, match="Input"):
            files.close(last.job)
    after = LedgerFiles(tmp_path)
    assert [job.uid for job in after.open_jobs] == [last.job.uid]
    after.close(last.job)
    assert {gap.of for gap in gaps(tmp_path)} == {"world", "stay"}
    assert LedgerFiles(tmp_path).open_jobs == []


def test_a_job_keeps_its_outcome_when_it_is_deleted(tmp_path: Path) -> None:
    job = read_job(job_object(condition="Succeeded"), gone_at=NOW).job
    assert (job.outcome, job.ended_at, job.deleted_at) == ("succeeded", at(7200), NOW)


def test_why_a_job_has_failed_outlives_it(tmp_path: Path) -> None:
    document = job_object(condition="Failed")
    why = "local rank 0 ended with code 3"
    document["status"]["conditions"][0]["message"] = why
    files = LedgerFiles(tmp_path)
    last = read_job(document, gone_at=NOW)
    files.keep(last, NOW)
    files.close(last.job)
    assert Folder(tmp_path).job("digits").message == why


def test_without_a_uid_the_newest_job_of_a_name_is_meant(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    first, second = job_object(uid="b"), job_object(uid="a")
    second["metadata"]["creationTimestamp"] = "2026-08-02T00:00:00Z"
    for document in (first, second):
        files.keep(read_job(document), NOW)
    assert Folder(tmp_path).job("digits").uid == "a"
    assert Folder(tmp_path).job("digits", "b").uid == "b"


def test_an_entry_of_a_later_version_is_passed_over(tmp_path: Path) -> None:
    document = job_object(world(1))
    document["status"]["history"].append({"kind": "world", "number": "many"})
    files = LedgerFiles(tmp_path)
    files.keep(read_job(document), NOW)
    json_lines.append(tmp_path / FILE, [{"kind": "comet", "tail": 3}])
    assert kept(tmp_path) == (world(1),)


def test_a_volume_that_is_full_costs_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = LedgerFiles(tmp_path)
    files.keep(snapshot(world(1)), NOW)

    def full(path: Path, documents: object) -> None:
        with path.open("ab") as file:
            file.write(b'{"kind":"wor')
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(json_lines, "append", full)
        with pytest.raises(OSError, match="No space"):
            files.keep(snapshot(world(1), world(2)), NOW)
    files.keep(snapshot(world(1), world(2)), NOW)
    assert kept(tmp_path) == (world(1), world(2))


def test_nodes_and_stays_are_found_by_time(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    place = Place(pool="t4", zone="a", capacity="spot")
    node = NodeEntry(name="n", uid="n1", place=place, gpus=1, created_at=at(0))
    files.keep_node(node)
    gone = replace(node, gone_at=at(50))
    files.keep_node(gone)
    files.keep(snapshot(stay(1), stay(5), world(1)), NOW)
    folder = Folder(tmp_path)
    assert folder.nodes(until=at(60)) == [gone]
    assert folder.nodes(since=at(60)) == []
    assert [one.stay.uid for one in folder.stays(since=at(200))] == ["pod-5"]
    assert [one.stay.uid for one in folder.stays(until=at(200))] == ["pod-1"]
    assert folder.stays()[0].job == "digits"


def test_a_name_that_is_no_name_leads_to_no_file() -> None:
    with pytest.raises(ValueError, match="no name or uid"):
        layout.ledger_file("../../etc/passwd", "u")


def test_entries_come_oldest_first(tmp_path: Path) -> None:
    LedgerFiles(tmp_path).keep(snapshot(stay(3), world(2), world(1)), NOW)
    times = [e.published_at if isinstance(e, WorldEntry) else e.created_at for e in kept(tmp_path)]  # type: ignore[union-attr]
    assert times == sorted(times)


def telling(minutes: float, *, condition: str = "") -> Snapshot:
    """A job whose script tells of its loss, as long after its creation."""
    told = job_object(condition=condition)
    moment = datetime.fromisoformat(told["metadata"]["creationTimestamp"])
    moment += timedelta(minutes=minutes)
    step = int(minutes * 60)
    told["status"]["progress"] = {
        "at": moment.isoformat(),
        "step": step,
        "metrics": {"loss": 1 / (1 + step)},
    }
    return read_job(told)


def metrics(folder: Path) -> list[MetricsEntry]:
    return [entry for entry in kept(folder) if isinstance(entry, MetricsEntry)]


def test_metrics_are_kept_once_a_minute_and_the_last_ones_always(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    for quarter in range(13):
        files.keep(telling(quarter / 4), NOW)
    LedgerFiles(tmp_path).keep(telling(3.25, condition="Succeeded"), NOW)
    assert [entry.step for entry in metrics(tmp_path)] == [0, 60, 120, 180, 195]
    assert metrics(tmp_path)[1].values == {"loss": 1 / 61}


def test_metrics_of_a_long_job_are_thinned_as_it_ages(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path)
    day = 24 * 60
    for minute in range(9 * day, 9 * day + 120):
        files.keep(telling(minute), NOW)
    assert len(metrics(tmp_path)) == 5  # one in 26 minutes: a five hundredth of nine days


def test_where_jobs_are_short_metrics_may_be_kept_more_often(tmp_path: Path) -> None:
    files = LedgerFiles(tmp_path, metrics=timedelta(seconds=1))
    for quarter in range(13):
        files.keep(telling(quarter / 4), NOW)
    assert [entry.step for entry in metrics(tmp_path)] == list(range(0, 181, 15))
