"""`spotrain board` with the real TensorBoard, over jobs of this machine."""

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from spotrain import contract
from spotrain.archive.errors import NotFound
from spotrain.archive.folder import Folder
from spotrain.archive.records import EventFile, JobLedger
from spotrain.cli import event_sources
from spotrain.cli.board import Shown, outputs_of
from spotrain.cli.errors import UserError
from spotrain.cli.event_mirror import EventMirror
from spotrain.cli.event_sources import LocalEvents
from spotrain.cli.local_jobs import ENV_FOLDER, own_shelf
from spotrain.cli.local_run import make_settings
from spotrain.cli.main import main
from spotrain.cli.metric_curves import MetricCurves
from spotrain.ledger.entries import MetricsEntry
from spotrain.local.shelf import Shelf
from tests.cli.curves import address_in, curves, write_curve
from tests.cli.documents import job
from tests.cli.terminal import CTRL_C, terminal


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """With a job that nobody runs."""
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = own_shelf()
    made.add(job(), make_settings(made))
    return made


def copies(folder: Path) -> list[Path]:
    return list(folder.glob("spotrain-board-*"))


def test_a_board_shows_curves_and_those_that_come_later_and_leaves_nothing(
    shelf: Shelf, tmp_path: Path
) -> None:
    output = shelf.volume / contract.OUTPUT_DIR / "digits"
    write_curve(output, "loss", {1: 0.5, 2: 0.25})
    with terminal(
        "board", "digits", "--local", folder=tmp_path, environment=dict(os.environ)
    ) as shown:
        shown.read_until("until Ctrl-C")
        assert "digits (1 event file)" in " ".join(shown.text.split())
        address = address_in(shown.text)
        while "digits" not in (found := curves(address)):
            time.sleep(0.2)  # it reads its folder when it has begun to serve
        assert list(found["digits"]) == ["loss"]
        write_curve(output / "validation", "accuracy", {1: 0.9})
        while "digits/validation" not in curves(address):
            time.sleep(0.2)
        assert len(copies(tmp_path)) == 1
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "the board is closed" in shown.text
    assert "Traceback" not in shown.text
    assert copies(tmp_path) == []
    with pytest.raises(OSError, match=r".*"):
        curves(address)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param(["digit"], 4, "digits", id="unknown"),
        pytest.param([], 2, "whose curves?", id="nobody"),
        pytest.param(["--sweep", "exp1"], 4, "no job of a sweep 'exp1'", id="no-sweep"),
    ],
)
@pytest.mark.usefixtures("shelf")
def test_whose_curves_there_are_none_of_is_told(
    words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["board", *words, "--local"])
    assert ended.value.code == code
    told = capsys.readouterr()
    assert (told.out, says in told.err, told.err.count("\n")) == ("", True, 1)
    assert copies(tmp_path) == []


@pytest.mark.usefixtures("shelf")
def test_without_tensorboard_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(SystemExit) as ended:
        main(["board", "digits", "--local"])
    assert ended.value.code == 2
    assert "pip install 'spotrain[tensorboard]'" in capsys.readouterr().err


@contextlib.contextmanager
def shown(shelf: Shelf, runs: Path, *names: str) -> Iterator[Shown]:
    runs.mkdir()
    with event_sources.opened(context=None, namespace=None, local=True) as (jobs, open_source):
        outputs, _ = outputs_of(jobs, names, None, local=True)
        yield Shown(outputs, open_source, EventMirror(runs), MetricCurves(runs))


def test_a_job_that_is_deleted_meanwhile_keeps_its_curves_and_the_others_theirs(
    shelf: Shelf, tmp_path: Path
) -> None:
    shelf.add(job("other"), make_settings(shelf))
    output = shelf.volume / contract.OUTPUT_DIR
    write_curve(output / "digits", "loss", {1: 0.5})
    with shown(shelf, tmp_path / "runs", "digits", "other") as board:
        assert board.update() == {"digits"}
        gone = shelf.find("digits")
        gone.remove(gone.uid)
        write_curve(output / "digits", "loss", {2: 0.4})
        write_curve(output / "other", "loss", {1: 0.5})
        assert board.update() == {"digits", "other"}
        assert board.mirror.count == 3


def test_a_board_of_a_deleted_job_shows_what_it_has_left(shelf: Shelf, tmp_path: Path) -> None:
    write_curve(shelf.volume / contract.OUTPUT_DIR / "digits", "loss", {1: 0.5})
    gone = shelf.find("digits")
    gone.remove(gone.uid)
    with shown(shelf, tmp_path / "runs", "digits", "never") as board:
        assert board.update() == {"digits"}
        assert board.mirror.count == 1


def test_where_there_was_never_a_job_the_board_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "empty"))
    with pytest.raises(SystemExit) as ended:
        main(["board", "digits", "--local"])
    assert ended.value.code == 4
    assert "there is no job 'digits' on this machine" in capsys.readouterr().err
    assert not (tmp_path / "empty").exists()


def test_where_copies_cannot_be_written_that_is_told_and_the_next_look_goes_on(
    shelf: Shelf, tmp_path: Path
) -> None:
    write_curve(shelf.volume / contract.OUTPUT_DIR / "digits", "loss", {1: 0.5})
    with shown(shelf, tmp_path / "runs", "digits") as board:
        (tmp_path / "runs" / "digits").touch()  # where the folder should be
        with pytest.raises(UserError, match="what digits wrote cannot be copied"):
            board.update()
        (tmp_path / "runs" / "digits").unlink()
        assert board.update() == {"digits"}


def events(folder: Path) -> LocalEvents:
    return LocalEvents(folder / "output", Folder(folder / "archive"))


# --- The copies -----------------------------------------------------------------------------------
@pytest.fixture
def mirror(tmp_path: Path) -> EventMirror:
    (tmp_path / "runs").mkdir()
    return EventMirror(tmp_path / "runs")


def test_only_what_was_added_is_fetched_again(mirror: EventMirror, tmp_path: Path) -> None:
    file = tmp_path / "output" / "digits" / "a.tfevents"
    source = events(tmp_path)
    file.parent.mkdir(parents=True)
    assert not mirror.update(source, "never", "never")
    copy = mirror.folder / "digits" / "a.tfevents"
    asked = []

    class Counted(LocalEvents):
        def event_bytes(self, output: str, path: str, begin: int) -> bytes:
            asked.append(begin)
            return super().event_bytes(output, path, begin)

    for data in (b"one", b"one two", b"one two", b"new"):
        file.write_bytes(data)
        assert mirror.update(Counted(source.output, source.folder), "digits", "digits")
        assert copy.read_bytes() == data
    assert asked == [0, 3, 0]
    assert mirror.count == 1


class Hostile:
    """An archive that somebody else speaks for."""

    def ledger(self, name: str) -> JobLedger:
        raise NotFound(name)

    def __init__(self, *files: EventFile) -> None:
        self.files = list(files)

    def event_files(self, output: str) -> list[EventFile]:
        return self.files

    def event_bytes(self, output: str, path: str, begin: int) -> bytes:
        return b"x" * 10


def test_no_name_leads_out_of_the_folder_and_no_size_fills_the_disk(
    mirror: EventMirror, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = EventFile(path="../../../escaped.tfevents", size=10)
    mirror.update(Hostile(out, EventFile(path="/tmp/escaped.tfevents", size=10)), "digits", "x")
    assert list(mirror.folder.rglob("*")) == []
    assert not (tmp_path / "escaped.tfevents").exists()
    mirror.most = 25
    files = [EventFile(path=f"{number}.tfevents", size=10) for number in range(4)]
    for _ in range(2):
        mirror.update(Hostile(*files), "digits", "x")
    assert mirror.count == 2
    assert capsys.readouterr().err.count("left out") == 2


def test_files_in_a_bucket_are_told_of_once_and_nobody_is_asked_for_them(
    mirror: EventMirror, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Hostile(EventFile(path="0.tfevents", size=10))
    for _ in range(2):
        assert not mirror.update(asked, "digits", "gs://team/digits")
    assert mirror.count == 0
    assert capsys.readouterr().err.count("tensorboard --logdir gs://team/digits") == 1


@contextlib.contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes: what fits is written, then it fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_a_full_disk_left_of_a_copy_is_written_over(
    mirror: EventMirror, tmp_path: Path
) -> None:
    source, file = events(tmp_path), tmp_path / "output" / "digits" / "a.tfevents"
    file.parent.mkdir(parents=True)
    whole = bytes(range(1, 201))
    file.write_bytes(whole[:100])
    mirror.update(source, "digits", "digits")
    file.write_bytes(whole)
    for _ in range(2):
        with full_disk(150), pytest.raises(OSError, match="too large"):
            mirror.update(source, "digits", "digits")
    copy = mirror.folder / "digits" / "a.tfevents"
    assert copy.read_bytes() == whole[:150]
    mirror.update(source, "digits", "digits")
    assert copy.read_bytes() == whole


def test_what_a_full_disk_kept_out_of_the_metrics_is_drawn_once_there_is_room(
    tmp_path: Path,
) -> None:
    told, drawn = metrics(40), MetricCurves(tmp_path)
    drawn.update("digits", told[:1])
    (file,) = tmp_path.glob("digits/ledger/*tfevents*")
    for _ in range(2):
        with full_disk(file.stat().st_size + 10), pytest.raises(OSError, match="too large"):
            drawn.update("digits", told[:20])
    drawn.update("digits", told)
    assert points(tmp_path) == [(n, "loss", pytest.approx(1.0 / n)) for n in range(1, 41)]


def test_what_cannot_be_written_of_one_job_keeps_no_other_from_being_shown(
    shelf: Shelf, tmp_path: Path
) -> None:
    shelf.add(job("other"), make_settings(shelf))
    for name in ("digits", "other"):
        write_curve(shelf.volume / contract.OUTPUT_DIR / name, "loss", {1: 0.5})
    with shown(shelf, tmp_path / "runs", "digits", "other") as board:
        (tmp_path / "runs" / "digits").touch()  # where the folder should be
        with pytest.raises(UserError, match="what digits wrote cannot be copied"):
            board.update()
        assert list((tmp_path / "runs" / "other").iterdir())


def test_a_folder_that_is_not_there_yet_has_no_files(mirror: EventMirror, tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    with pytest.raises(NotFound):
        events(tmp_path).event_files("digits")
    assert not mirror.update(events(tmp_path), "digits", "digits")


def metrics(count: int) -> list[MetricsEntry]:
    return [
        MetricsEntry(
            at=datetime(2026, 1, 1, second=n, tzinfo=UTC), step=n, values={"loss": 1.0 / n}
        )
        for n in range(1, count + 1)
    ]


def points(folder: Path) -> list[tuple[int, str, Any]]:
    (file,) = folder.glob("digits/ledger/*tfevents*")
    return [
        (event.step, value.tag, value.simple_value)
        for event in LegacyEventFileLoader(str(file)).Load()
        for value in event.summary.value
    ]


def test_each_metric_that_was_told_is_a_point_once(tmp_path: Path) -> None:
    told = metrics(4)
    drawn = MetricCurves(tmp_path)
    for entries in ([], told[:2], told[:2], told):
        drawn.update("digits", entries)
    assert points(tmp_path) == [(n, "loss", pytest.approx(1.0 / n)) for n in range(1, 5)]
    assert drawn.count == 1
