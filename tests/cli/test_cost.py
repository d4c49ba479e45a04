"""What `spotrain cost` works out and shows, from a ledger on disk and over HTTP.

The jobs are those of docs/cost.md, whose results a test of that page computes.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from spotrain.archive.errors import NotFound
from spotrain.archive.folder import Folder
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.news import Snapshot
from spotrain.archive.records import JobRecord
from spotrain.cli import cost
from spotrain.cli.cost_view import document, document_of, draw, tabulate
from spotrain.cli.costs import Archive, Tariff, cost_of_all, cost_of_job
from spotrain.cli.local_jobs import ENV_FOLDER, own_shelf
from spotrain.cli.local_run import make_settings
from spotrain.cli.main import main
from spotrain.cli.status_ledger import StatusLedger
from spotrain.cli.wording import span
from spotrain.clouds.history import History, Market
from spotrain.job import Price, Terms
from spotrain.ledger.entries import (
    AnyEntry,
    GapEntry,
    Place,
    StayEntry,
    WorldEntry,
    to_document,
)
from tests.archive.served import asking, serving
from tests.cli import documents
from tests.docs.test_cost_page import NODES, NOW, PLACE, POOL, QUOTES, STORAGE, at, stays, worlds

MINUTE = timedelta(minutes=1)
LATEST = Price(
    pool=POOL.name,
    zone=PLACE.zone,
    instance_type=PLACE.instance_type,
    spot_usd_per_hour=2.0,
    at=NOW,
)


def known(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    """The cloud's record, to somebody who may read it."""
    assert list(markets) == [Market(PLACE.instance_type, PLACE.zone)]
    assert at("12:00") <= since < now
    return History(quotes=tuple(QUOTES))


def refused(markets: Sequence[Market], since: datetime, now: datetime) -> History:
    return History(quotes=(), problem="nobody is logged in. Next: log in.")


TARIFF = Tariff(pools=[POOL], latest=[LATEST], ask_history=known, terms=Terms(storage=STORAGE))


def record(name: str, **changed: Any) -> JobRecord:
    held = stays(name)
    return replace(
        JobRecord(
            name=name,
            uid=f"uid-{name}",
            created_at=held[0].created_at,
            ended_at=max(stay.ended_at for stay in held if stay.ended_at),
            outcome="succeeded",
            researcher="ada",
        ),
        **changed,
    )


def write(
    folder: Path, jobs: Sequence[tuple[JobRecord, Sequence[AnyEntry]]], *, nodes: bool = True
) -> None:
    """As the archive does."""
    files = LedgerFiles(folder)
    for job, entries in jobs:
        files.keep(Snapshot(job=job, entries=tuple(entries)), NOW)
        if job.deleted_at is not None:
            files.close(job)
    for node in NODES if nodes else ():
        files.keep_node(node)


def example() -> list[tuple[JobRecord, Sequence[AnyEntry]]]:
    return [
        (record("resnet"), [*stays("resnet"), *worlds()]),
        (record("bert"), stays("bert")),
    ]


@pytest.fixture(params=["folder", "http"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Archive]:
    write(tmp_path, example())
    if request.param == "folder":
        yield Folder(tmp_path)
    else:
        with serving(tmp_path, tmp_path / "output") as url, asking(url) as client:
            yield client


def shown(renderable: RenderableType) -> str:
    console = Console(width=80, record=True, file=None)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get()


def test_a_job_costs_what_the_page_says(archive: Archive) -> None:
    found = cost_of_job(archive, TARIFF, "resnet", now=NOW)
    told = document_of(found.jobs[0])
    assert told["usd"] == pytest.approx(2.94, abs=0.005)
    assert told["onDemandUsd"] == pytest.approx(6.51, abs=0.005)
    assert told["saved"] == pytest.approx(0.549, abs=0.0005)
    assert told["traffic"] == {
        "readBytes": 10_000_000_000,
        "writtenBytes": 600_000_000,
        "pods": 2,
        "countedPods": 2,
        "usd": pytest.approx(0.336),
    }
    assert told["gpuHoursBy"]["useful"] == pytest.approx(6.33, abs=0.005)
    assert sum(line["usd"] for line in told["lines"]) == pytest.approx(told["nodeUsd"])
    assert {line["source"] for line in told["lines"]} == {"spot history"}
    assert found.notes == ()


def test_what_nobody_counted_is_said_and_is_not_nothing(archive: Archive) -> None:
    found = cost_of_job(archive, TARIFF, "bert", now=NOW)
    assert document_of(found.jobs[0])["traffic"]["readBytes"] is None
    assert document_of(found.jobs[0])["traffic"]["usd"] is None
    assert "nobody counted" in shown(draw(found.jobs[0]))
    assert found.notes == (
        "What 1 of 1 pod read from and wrote to the shared volume is not known, so what that "
        "cost is not in it.",
    )


def test_bytes_that_nobody_has_priced_are_told_all_the_same(archive: Archive) -> None:
    found = cost_of_job(archive, replace(TARIFF, terms=Terms()), "resnet", now=NOW)
    assert document_of(found.jobs[0])["traffic"]["usd"] is None
    assert found.jobs[0].cost.usd == pytest.approx(2.60)
    assert "600 MB written: no price is known" in shown(draw(found.jobs[0]))


def test_a_job_pays_a_cool_down_as_long_as_the_stack_lets_nodes_idle(archive: Archive) -> None:
    short = replace(TARIFF, terms=Terms(idle_minutes=1))
    found = cost_of_job(archive, short, "bert", now=NOW)
    idle = [line for line in found.jobs[0].cost.lines if line.use == "idle"]
    assert sum(line.amount.node_hours for line in idle) == pytest.approx(6 / 60)


def test_all_jobs_and_the_platform_cost_what_the_nodes_do(archive: Archive) -> None:
    found = document(cost_of_all(archive, TARIFF, since=at("11:00"), now=NOW))
    assert [job["job"] for job in found["jobs"]] == ["resnet", "bert"]
    total = sum(job["usd"] for job in found["jobs"]) + found["platform"]["usd"]
    assert total == pytest.approx(6.08 + 0.336)
    assert found["platform"]["nodeHours"] == pytest.approx(1.07, abs=0.005)


def test_a_job_that_ended_before_is_not_asked_for(archive: Archive) -> None:
    found = cost_of_all(archive, TARIFF, since=at("14:10"), now=NOW)
    assert [each.job.name for each in found.jobs] == ["bert"]
    # From 14:10 to 14:36 half of n1 was asked for by nobody.
    assert found.platform.node_hours == pytest.approx(26 / 120)


def test_an_unknown_job_is_not_found(archive: Archive) -> None:
    with pytest.raises(NotFound, match="gone"):
        cost_of_job(archive, TARIFF, "gone", now=NOW)


def test_without_credentials_the_newest_price_is_taken_and_that_is_said(archive: Archive) -> None:
    tariff = replace(TARIFF, ask_history=refused)
    found = cost_of_job(archive, tariff, "resnet", now=NOW)
    assert found.jobs[0].cost.amount.usd == pytest.approx(1.9 * 2.0)
    assert found.notes == (
        "Spot prices of the past are not known: nobody is logged in. Next: log in.",
        "1.90 node hours are priced by the newest spot price, not that of the time.",
    )


def test_without_any_spot_price_the_list_price_is_taken_and_that_is_said(archive: Archive) -> None:
    tariff = replace(TARIFF, ask_history=refused, latest=[])
    found = cost_of_job(archive, tariff, "resnet", now=NOW)
    assert found.jobs[0].cost.amount.usd == pytest.approx(1.9 * 3.912)
    assert "too dear" in found.notes[1]


def test_a_pool_that_is_gone_has_no_price_and_that_is_said(archive: Archive) -> None:
    tariff = Tariff(pools=[], latest=[], ask_history=refused)
    found = cost_of_job(archive, tariff, "resnet", now=NOW)
    assert found.jobs[0].cost.amount.usd == 0
    assert found.jobs[0].cost.saving.fraction is None
    assert "nobody has named a price" in found.notes[1]


def test_without_a_record_of_nodes_their_idle_time_is_said_to_lack(tmp_path: Path) -> None:
    write(tmp_path, example(), nodes=False)
    found = cost_of_job(Folder(tmp_path), TARIFF, "bert", now=NOW)
    assert [line.use for line in found.jobs[0].cost.lines] == ["held"]
    assert "no record of 1 of the nodes, such as n1" in found.notes[-1]


def test_stretches_that_the_ledger_lacks_are_said(tmp_path: Path) -> None:
    gap = GapEntry(of="world", since=at("12:30"), until=at("12:40"))
    write(tmp_path, [(record("resnet"), [*stays("resnet"), *worlds(), gap])])
    found = cost_of_job(Folder(tmp_path), TARIFF, "resnet", now=NOW)
    assert "the last until 2026-11-21 12:40 UTC" in found.notes[0]


def test_a_pod_whose_end_nobody_saw_is_not_paid_after_its_job_is_gone(tmp_path: Path) -> None:
    unseen: list[StayEntry] = [replace(stay, ended_at=None) for stay in stays("bert")]
    gone = record("bert", ended_at=at("13:00"), deleted_at=at("13:00"), outcome="deleted")
    write(tmp_path, [(gone, unseen)])
    found = cost_of_job(Folder(tmp_path), TARIFF, "bert", now=NOW)
    held = [line.amount.node_hours for line in found.jobs[0].cost.lines if line.use == "held"]
    assert sum(held) == pytest.approx(40 / 120)


def test_a_job_that_still_trains_is_charged_until_now(tmp_path: Path) -> None:
    running = [replace(stay, ended_at=None) for stay in stays("bert")]
    write(tmp_path, [(record("bert", ended_at=None, outcome=""), running)])
    found = cost_of_job(Folder(tmp_path), TARIFF, "bert", now=at("13:20"))
    assert found.jobs[0].cost.amount.node_hours == pytest.approx(0.5)


def test_people_see_where_the_dollars_went(archive: Archive) -> None:
    found = cost_of_job(archive, TARIFF, "resnet", now=NOW)
    text = shown(draw(found.jobs[0]))
    for words in (
        *("us-east-1a", "spot history", "$2.60", "$2.94", "54.9%", "6.33 useful, 0.47 lost"),
        "10 GB read, 600 MB written: $0.3360",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80


def test_people_see_all_jobs_and_what_nobody_had(archive: Archive) -> None:
    text = shown(tabulate(cost_of_all(archive, TARIFF, since=at("11:00"), now=NOW), NOW))
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert [line[0] for line in lines[2:5]] == ["resnet", "bert", "platform"]
    assert " ".join(lines[5]).startswith("platform: what no job pays")
    assert " ".join(lines[2][1:3]) == span((NOW - stays("resnet")[0].created_at).total_seconds())
    assert lines[2][-3:] == ["$2.94", "$6.51", "54.9%"]
    assert lines[3][-1] == "$2.00"  # bert told of no steps: nothing is said to be saved


@pytest.mark.parametrize("days", ["0", "-1", "nan", "1e9"])
def test_a_span_that_is_none_is_refused(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cost", "--days", days])
    assert ended.value.code == 2
    assert "--days" in capsys.readouterr().err


def test_whoever_is_not_logged_in_at_the_cloud_learns_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    found = cost.ask_clouds([Market("g4dn.xlarge", "us-east-1a")], NOW - 60 * MINUTE, NOW)
    assert found.quotes == ()
    assert "log in to AWS" in found.problem


# --- Without an archive --------------------------------------------------------------------------


def object_of(name: str, entries: Sequence[AnyEntry], **ledger: Any) -> dict[str, Any]:
    """The example as an ElasticJob whose status the controller wrote."""
    job = record(name)
    worlds_told = [to_document(each) for each in entries if isinstance(each, WorldEntry)]
    stays_told = [to_document(each) for each in entries if isinstance(each, StayEntry)]
    return {
        "metadata": {
            "name": name,
            "uid": job.uid,
            "creationTimestamp": job.created_at.isoformat(),
        },
        "status": {
            "completionTime": job.ended_at.isoformat() if job.ended_at else None,
            "conditions": [
                {
                    "type": "Succeeded",
                    "status": "True",
                    "lastTransitionTime": NOW.isoformat(),
                    "reason": "Done",
                }
            ],
            "history": worlds_told,
            "ledger": {"since": job.created_at.isoformat(), "stays": stays_told, **ledger},
        },
    }


def test_the_status_tells_all_but_the_nodes_idle_time() -> None:
    told = StatusLedger([object_of(job.name, entries) for job, entries in example()])
    found = cost_of_job(told, TARIFF, "resnet", now=NOW)
    assert found.jobs[0].cost.amount.usd == pytest.approx(2.60)
    assert found.jobs[0].cost.saving.fraction == pytest.approx(0.549, abs=0.0005)
    assert [note for note in found.notes if "no record of 2 of the nodes" in note]
    bert = cost_of_job(told, TARIFF, "bert", now=NOW)
    assert {line.use for line in bert.jobs[0].cost.lines} == {"held"}


def test_what_the_status_no_longer_lists_is_said_to_lack() -> None:
    settled = {"until": at("12:30").isoformat()}
    told = StatusLedger([object_of("resnet", stays("resnet"), settled=settled)])
    found = cost_of_job(told, TARIFF, "resnet", now=NOW)
    assert "the last until 2026-11-21 12:30 UTC" in found.notes[-1]


def test_a_job_that_no_status_tells_of_is_not_found() -> None:
    with pytest.raises(NotFound, match="no job 'gone'"):
        cost_of_job(StatusLedger([]), TARIFF, "gone", now=NOW)


def test_jobs_of_this_machine_cost_nothing_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path))
    shelf = own_shelf()
    assert typed("cost", "--local") == 0
    said = capsys.readouterr()
    assert (said.out, "No job was there in the last 7 days" in said.err) == ("", True)
    added = shelf.add(documents.job("digits", minReplicas=1), make_settings(shelf))
    place = {"pool": "cpu-local", "zone": "here", "capacity": "on-demand"}
    created = datetime.now(UTC) - 30 * MINUTE
    held = StayEntry(
        pod="digits-worker-0",
        uid="p",
        gpus=0,
        created_at=created,
        scheduled_at=created,
        node="node-1",
        node_created_at=created,
        place=Place(**place),
    )
    ledger = {"since": created.isoformat(), "stays": [to_document(held)]}
    added.status_file.write_text(json.dumps({"ledger": ledger}))
    assert typed("cost", "digits", "--local", "-o", "json") == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["nodeHours"] == pytest.approx(0.5, abs=0.02)
    assert told["usd"] == 0
    assert "nobody has named a price" in said.err
    assert typed("cost", "gone", "--local") == 4
    assert "no job 'gone'" in capsys.readouterr().err
    assert typed("cost", "--local", "-o", "name") == 0
    assert capsys.readouterr().out.split() == ["digits"]


def typed(*words: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code
