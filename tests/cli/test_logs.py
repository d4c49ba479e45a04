"""Whose lines `logs` shows, where a job has had the name before."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from spotrain.archive import layout
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.log_files import JobLogs, LogBounds
from spotrain.archive.news import read_job
from spotrain.archive.records import LogLine
from spotrain.cli import local_archive, logs
from spotrain.cli.local_archive import LocalArchive
from spotrain.cli.local_jobs import ENV_FOLDER, own_shelf
from spotrain.cli.local_run import make_settings
from spotrain.controller.status import SUCCEEDED
from spotrain.kinds import Object
from spotrain.local.shelf import Shelf
from tests.cli.documents import job

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = "uid-of-digits"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """With a job of which the archive has not heard yet; it knows one of the name, deleted since.

    Nobody runs either.
    """
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path))
    made = own_shelf()
    keep(made, job(), "the old one", gone_at=NOW)
    made.add(job(), make_settings(made))
    return made


def keep(shelf: Shelf, document: Object, said: str, gone_at: datetime | None = None) -> None:
    snapshot = read_job(document, gone_at=gone_at)
    files = LedgerFiles(shelf.archive)
    files.keep(snapshot, NOW)
    if gone_at:
        files.close(snapshot.job)
    kept = JobLogs(
        shelf.archive / layout.logs_folder(snapshot.job.name, snapshot.job.uid), LogBounds()
    )
    kept.append(
        0,
        [
            LogLine(
                at=f"{NOW:%Y-%m-%dT%H:%M:%S}.000000000Z", worker=0, pod="w", pod_uid="p", line=said
            )
        ],
    )


def instead_of_sleeping(act: Callable[[], None]) -> SimpleNamespace:
    return SimpleNamespace(sleep=lambda _seconds: act())


def new_uid(shelf: Shelf) -> str:
    return str(shelf.find("digits").spec()["metadata"]["uid"])


@pytest.mark.parametrize("is_told", [True, False], ids=["submit", "logs"])
def test_who_follows_waits_for_the_job_that_is_there(
    is_told: bool, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = instead_of_sleeping(lambda: keep(shelf, shelf.find("digits").document(), "the new one"))
    monkeypatch.setattr(logs, "time", heard)
    uid = new_uid(shelf) if is_told else ""
    lines = logs.lines_of("digits", context=None, namespace=None, local=True, uid=uid, follow=True)
    assert [line.text for line in lines] == ["the new one"]


def test_following_ends_with_the_job_though_another_of_its_name_is_run(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        local_archive, "time", instead_of_sleeping(lambda: pytest.fail("it waits for more"))
    )
    with shelf.find("digits").running():
        followed = LocalArchive(shelf).logs("digits", OLD, follow=True)
        assert [line.line for line in followed] == ["the old one"]


def test_of_a_job_that_has_just_ended_the_last_lines_are_waited_for(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs it tells first that it has ended, and then writes down what is left."""
    stored = shelf.find("digits")
    keep(shelf, stored.document(), "the first line")
    over = {"type": SUCCEEDED, "status": "True", "reason": "Done", "message": ""}
    stored.status_file.write_text(json.dumps({"conditions": [over]}))
    with ExitStack() as engine:
        engine.enter_context(stored.running())

        def end() -> None:
            keep(shelf, stored.spec(), "the last line")
            engine.close()

        monkeypatch.setattr(local_archive, "time", instead_of_sleeping(end))
        lines = LocalArchive(shelf).logs("digits", stored.uid)
        assert [line.line for line in lines] == ["the first line", "the last line"]
