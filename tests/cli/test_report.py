"""`spotrain report`: from the archive, from a job's own status, and on this machine."""

import json
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from spotrain import contract
from spotrain.archive.errors import NotFound, Unavailable
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.news import Snapshot
from spotrain.archive.records import CheckpointRecord
from spotrain.cli.cost import unasked
from spotrain.cli.costs import Tariff
from spotrain.cli.local_jobs import ENV_FOLDER, own_shelf
from spotrain.cli.local_run import make_settings
from spotrain.cli.main import main
from spotrain.cli.report_page.page import render
from spotrain.cli.report_page.story import Story
from spotrain.cli.report_page.verdict import judge
from spotrain.cli.status_ledger import StatusLedger
from spotrain.cli.stories import gather
from spotrain.kinds import Object
from spotrain.ledger.entries import AnyEntry, to_document
from tests.cli.documents import job
from tests.cli.report_stories import POOLS, at, rich
from tests.cli.test_report_page import Page

TARIFF = Tariff(pools=POOLS, latest=(), ask_history=unasked)
NOW = at(60 * 24)


def no_checkpoints(output: str) -> Sequence[CheckpointRecord]:
    raise NotFound("there is no such folder")


@pytest.fixture
def archive(tmp_path: Path) -> Folder:
    """All of the rich story, as the archive's keeper writes it down."""
    story = rich()
    files = LedgerFiles(tmp_path / "archive")
    entries: list[AnyEntry] = [*story.worlds, *story.record.stays]
    entries += [*story.record.pauses, *story.metrics]
    files.keep(Snapshot(job=story.job, entries=tuple(entries)), NOW)
    return Folder(tmp_path / "archive")


def told_by_itself(story: Story) -> Object:
    """The job's object with its status."""
    document = job(
        story.job.name,
        status={
            "history": [to_document(world) for world in story.worlds],
            "ledger": {
                "since": story.record.life.since.isoformat(),
                "stays": [to_document(stay) for stay in story.record.stays],
            },
            "conditions": [
                {
                    "type": "Succeeded",
                    "status": "True",
                    "lastTransitionTime": story.record.life.until.isoformat(),
                }
            ],
        },
    )
    document["metadata"]["creationTimestamp"] = story.record.life.since.isoformat()
    return document


def test_a_deleted_job_is_told_from_the_archive_alone(archive: Folder) -> None:
    story = gather(
        archive,
        TARIFF,
        rich().job.name,
        document=None,
        list_checkpoints=no_checkpoints,
        now=NOW,
    )
    assert "It succeeded after 3 h 15 min and cost $" in judge(story).sentence
    assert [world.number for world in story.worlds] == [1, 2, 3, 4, 5, 6]
    assert len(story.metrics) == 180
    assert "resnet50-lr3" in render(story)


def test_checkpoints_are_asked_for_where_the_job_writes(archive: Folder) -> None:
    document = job(rich().job.name, minReplicas=1)
    container = document["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"]
    container["containers"][0]["env"] = [
        {"name": contract.ENV_OUTPUT, "value": "/mnt/efs/output/x"}
    ]
    document["metadata"]["uid"] = rich().job.uid
    asked = []

    def listed(output: str) -> Sequence[CheckpointRecord]:
        asked.append(output)
        raise Unavailable("the volume does not answer")

    story = gather(
        archive, TARIFF, rich().job.name, document=document, list_checkpoints=listed, now=NOW
    )
    assert asked == ["/mnt/efs/output/x/checkpoints"]
    assert "Checkpoints are not known: the volume does not answer" in story.remarks


def test_without_the_archive_a_job_is_told_by_its_own_status() -> None:
    document = told_by_itself(rich())
    story = gather(
        StatusLedger([document]),
        TARIFF,
        rich().job.name,
        document=document,
        list_checkpoints=no_checkpoints,
        now=NOW,
    )
    assert len(story.worlds) == 6
    assert story.cost.amount.node_hours == pytest.approx(rich().cost.amount.node_hours, rel=0.01)
    assert story.facts["workers"] == "2"


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a job of this machine that has ended."""
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.chdir(tmp_path)
    shelf = own_shelf()
    document = told_by_itself(rich())
    status = document.pop("status")
    added = shelf.add(document, make_settings(shelf))
    spec = json.loads(added.job_file.read_text())
    spec["metadata"]["creationTimestamp"] = rich().record.life.since.isoformat()
    added.job_file.write_text(json.dumps(spec))
    added.status_file.write_text(json.dumps(status))
    return rich().job.name


def typed(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(["report", *words])
    return ended.value.code


def test_the_page_is_written_and_its_name_is_told(
    stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(stored, "--local") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("wrote resnet50-lr3-report.html.")
    assert "6 worlds" in Page((tmp_path / "resnet50-lr3-report.html").read_text()).text
    assert typed(stored, "--local") == 0  # made again it takes the place of the first one


def test_the_page_goes_to_standard_output_on_request(
    stored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(stored, "--local", "-o", "-") == 0
    said = capsys.readouterr()
    assert said.out.startswith("<!DOCTYPE html>")
    assert said.err == ""


def test_a_file_that_no_report_has_made_stays(
    stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("precious")
    assert typed(stored, "--local", "-o", "train.py") == 2
    assert "it is no page" in capsys.readouterr().err
    assert (tmp_path / "train.py").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(["resnet50-lr4", "--local"], 4, "Did you mean resnet50-lr3?", id="name"),
        pytest.param(
            ["resnet50-lr3", "--local", "-o", "no/x.html"], 2, "-o no/x.html", id="folder"
        ),
        pytest.param(
            ["resnet50-lr3", "--local", "-o", "."], 2, "Name another file", id="is-folder"
        ),
        pytest.param(["x", "--local", "--open", "-o", "-"], 2, "--open needs a file", id="open"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    stored: str, words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(*words) == code
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_the_browser_is_given_the_file(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    assert typed(stored, "--local", "--open") == 0
    assert opened == [(tmp_path / "resnet50-lr3-report.html").as_uri()]


def test_worlds_that_came_and_went_unseen_are_told(archive: Folder) -> None:
    story = rich()
    gap_free = replace(story, gaps=())
    assert "Not recorded" in Page(render(story)).text
    assert "Not recorded" not in Page(render(gap_free)).text
    assert story.gaps[0].until - story.gaps[0].since == timedelta(minutes=3)
