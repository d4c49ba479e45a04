"""Jobs of this machine as folders: added whole or not at all, whoever does so at once."""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

import pytest

from spotrain.cli.errors import UserError
from spotrain.cli.local_jobs import LocalJobs
from spotrain.cli.local_run import make_settings, run_here
from spotrain.local.job_files import OBJECTS
from spotrain.local.shelf import AlreadyRun, NameTaken, NoSuchJob, Settings, Shelf
from tests.cli.documents import job
from tests.cli.test_local import Typed, jobs, shelf, typed

__all__ = ["jobs", "shelf", "typed"]


def test_a_taken_name_leaves_the_job_that_has_it_as_it_is(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first = shelf.add(job(), make_settings(shelf, workdir=tmp_path, machines=2))
    before = first.document(), first.settings()
    with pytest.raises(NameTaken, match="digits"):
        shelf.add(job(), make_settings(shelf, workdir=tmp_path / "other", machines=3))
    assert (first.document(), first.settings()) == before


def test_of_those_who_add_a_name_at_once_one_does_and_all_of_it_is_its_own(shelf: Shelf) -> None:
    taken = Queue[Settings]()

    def add(machines: int) -> None:
        settings = make_settings(shelf, machines=machines)
        with contextlib.suppress(NameTaken):
            shelf.add(job(), settings)
            taken.put(settings)

    threads = [Thread(target=add, args=(machines,)) for machines in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.qsize() == 1
    assert shelf.find("digits").settings() == taken.get()


def test_a_job_that_was_made_anew_is_not_removed_for_the_one_that_had_its_name(
    shelf: Shelf,
) -> None:
    old = shelf.add(job(), make_settings(shelf))
    seen_before = old.uid
    old.remove(seen_before)
    new = shelf.add(job(), make_settings(shelf)).document()
    old.remove(seen_before)
    assert shelf.find("digits").document() == new


def test_a_job_that_a_process_runs_is_not_removed(shelf: Shelf) -> None:
    stored = shelf.add(job(), make_settings(shelf))
    before = stored.document()
    with stored.running(), pytest.raises(AlreadyRun, match="digits"):
        stored.remove(stored.uid)
    assert stored.document() == before
    stored.remove(stored.uid)
    assert not shelf.jobs()


def test_of_many_who_remove_a_job_at_once_none_fails_and_nothing_of_it_is_left(
    shelf: Shelf,
) -> None:
    stored = shelf.add(job(), make_settings(shelf))
    uid, failed = stored.uid, Queue[Exception]()

    def remove() -> None:
        try:
            stored.remove(uid)
        except Exception as error:
            failed.put(error)

    threads = [Thread(target=remove) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed.empty()
    assert list((shelf.root / "jobs").iterdir()) == []
    assert not (shelf.root / "removed").exists()


def test_who_comes_to_run_a_job_while_it_is_removed_does_not_run_what_nobody_finds(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = shelf.add(job(), make_settings(shelf))
    lock = fcntl.flock

    def late(file: IO[str], operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        stored.remove(stored.uid)
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(NoSuchJob), stored.running():
        pass


def test_a_full_disk_leaves_no_job_behind(
    shelf: Shelf, jobs: LocalJobs, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    (shelf.root / "jobs" / "digits").mkdir(parents=True)
    # A link to where nothing can be written stands for the file: the device is always full.
    (shelf.root / "jobs" / "digits" / "job.partial").symlink_to("/dev/full")
    with pytest.raises(UserError, match="No space left on device") as caught:
        jobs.create(job())
    assert "\n" not in caught.value.message
    assert shelf.jobs() == []
    assert typed("list") == 0
    (shelf.root / "jobs" / "digits" / "job.partial").unlink()
    shelf.add(job(), make_settings(shelf))


@pytest.mark.parametrize("verb", ["run", "stop", "delete"])
def test_a_full_disk_is_one_error_that_says_what_to_do_whatever_is_written(
    verb: str, shelf: Shelf, jobs: LocalJobs
) -> None:
    stored = shelf.add(job(), make_settings(shelf))
    acts: Mapping[str, Callable[[], object]] = {
        "run": lambda: run_here(job("other"), make_settings(shelf)),
        "stop": lambda: jobs.patch("digits", {"spec": {"suspend": True}}),
        "delete": lambda: jobs.delete("digits"),
    }
    other = shelf.root / "jobs" / "other"
    other.mkdir()
    full = [stored.folder / "job.partial", other / "settings.partial"]
    for file in full:
        file.symlink_to("/dev/full")
    with stored.running(), pytest.raises(UserError, match="No space left on device") as caught:
        acts[verb]()
    assert str(shelf.root) in caught.value.message
    assert "Make room" in caught.value.message
    assert "\n" not in caught.value.message
    for file in full:
        file.unlink()


@pytest.mark.parametrize("verb", ["list", "delete digits", "gpus", "explain digits"])
def test_a_spoilt_job_is_one_error_that_names_the_file(
    verb: str, shelf: Shelf, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    added = shelf.add(job(), make_settings(shelf))
    added.job_file.write_text("")
    assert typed(*verb.split()) == 2
    told = capsys.readouterr().err
    assert f"{added.job_file} cannot be used: it is no JSON" in told
    assert told.count("\n") == 1
    shutil.rmtree(added.folder)  # as it says


@pytest.mark.parametrize("verb", ["gpus", "explain digits"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('{"pods": [', "it is no JSON", id="torn"),
        pytest.param("[]", "it is no mapping", id="list"),
        pytest.param('{"pods": [], "nodes": []}', "events: is missing", id="without-events"),
        pytest.param('{"pods": [3], "nodes": [], "events": []}', "pods[0]", id="number-as-pod"),
    ],
)
def test_spoilt_objects_are_one_error_whose_advice_loses_no_job(
    text: str,
    says: str,
    verb: str,
    shelf: Shelf,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
) -> None:
    added = shelf.add(job(), make_settings(shelf))
    file = added.folder / OBJECTS
    file.write_text(text)
    assert typed(*verb.split()) == 2
    told = capsys.readouterr().err
    assert_refused_in_one_line(told, file, says)
    assert "Remove this file: nothing else is lost" in told
    file.unlink()  # as it says
    assert typed(*verb.split()) == 0
    assert typed("list") == 0


WHOLE = {"name": "digits", "uid": "u", "generation": 1, "creationTimestamp": "2026-01-31T12:00Z"}


def assert_refused_in_one_line(told: str, file: Path, says: str) -> None:
    assert f"{file} cannot be used: " in told
    assert says in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("document", "says"),
    [
        pytest.param(None, "it is no mapping", id="null"),
        pytest.param([], "it is no mapping", id="list"),
        pytest.param({}, "metadata: is missing", id="empty"),
        pytest.param({"metadata": {**WHOLE, "uid": 1}, "spec": {}}, "metadata.uid: 1 is", id="uid"),
        pytest.param({"metadata": WHOLE}, "spec: is missing", id="no-spec"),
        pytest.param(
            {"metadata": {**WHOLE, "creationTimestamp": "2026-01-31"}, "spec": {}},
            "'2026-01-31' is no moment",
            id="moment",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["list", "delete digits"])
def test_json_that_is_no_job_is_one_error_that_names_the_file(
    verb: str,
    document: object,
    says: str,
    shelf: Shelf,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
) -> None:
    added = shelf.add(job(), make_settings(shelf))
    added.job_file.write_text(json.dumps(document))
    assert typed(*verb.split()) == 2
    told = capsys.readouterr().err
    assert_refused_in_one_line(told, added.job_file, says)
    assert "remove its folder" in told
    shutil.rmtree(added.folder)


@pytest.mark.parametrize("verb", ["gpus", "explain digits", "checkpoints digits", "report digits"])
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param("[]", "it is no mapping", id="list"),
        pytest.param('{"workdir": "/", "later": 1}', "unknown field 'later'", id="newer"),
        pytest.param('{"workdir": "/", "machines": "8"}', "machines: '8' is text", id="kind"),
    ],
)
def test_settings_that_this_version_does_not_know_are_one_error_that_names_the_file(
    verb: str,
    settings: str,
    says: str,
    shelf: Shelf,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
) -> None:
    added = shelf.add(job(), make_settings(shelf))
    added.settings_file.write_text(settings)
    assert typed(*verb.split()) == 2
    assert_refused_in_one_line(capsys.readouterr().err, added.settings_file, says)
