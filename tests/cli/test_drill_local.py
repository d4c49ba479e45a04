"""`spotrain drill --local`: real workers of a job that another process runs."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from spotrain import contract
from spotrain.cli.drill_plan import unsteady
from spotrain.cli.local_jobs import LocalJobs
from spotrain.cli.local_run import make_settings
from spotrain.kinds import Object
from spotrain.ledger.entries import from_document
from spotrain.local import interruptions
from spotrain.local.interruptions import Manner
from spotrain.local.shelf import Shelf, StoredJob
from tests.cli.test_local import Typed, shelf, typed, until, waiting_job

__all__ = ["shelf", "typed"]
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "k8s" / "examples"
SESSION = ROOT / "tests" / "train" / "scripts" / "session.py"
SPOT_USD = 0.184
"""What a node costs for an hour, by the pools of the examples."""


@pytest.fixture
def trains(shelf: Shelf) -> Iterator[LocalJobs]:
    """A job of two workers that train until they are told that it is enough."""
    pools = yaml.safe_load((EXAMPLES / "pools.yaml").read_text())["data"][contract.POOLS_KEY]
    jobs = LocalJobs(shelf, make_settings(shelf, pools=pools))
    document = yaml.safe_load((EXAMPLES / "digits.yaml").read_text())
    document["spec"] |= {"maxReplicas": 2}
    worker = document["spec"]["replicaSpecs"][contract.WORKER]
    worker["replicas"] = 2
    container = worker["template"]["spec"]["containers"][0]
    container["args"] = [str(SESSION), "/mnt/efs/out"]
    jobs.create(document)
    until(jobs, "digits", lambda seen: not unsteady(seen))
    yield jobs
    (shelf.volume / "out" / "enough").touch()
    until(jobs, "digits", lambda seen: seen.status.finished)


@pytest.mark.timeout(900)
def test_what_a_drill_says_is_what_the_jobs_ledger_says(
    trains: LocalJobs, shelf: Shelf, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    code = typed("drill", "digits", "--kind", "notice,kill", "-o", "json")
    told = capsys.readouterr()
    said = json.loads(told.out)
    assert (code, said["passed"]) == (0, True), told
    notice, kill = said["drills"]
    assert (notice["endedBy"], notice["stepsLost"]) == ("notice", 0)
    assert kill["endedBy"] == "loss"
    history = {world["number"]: world for world in trains.get("digits")["status"]["history"]}
    for drill in (notice, kill):
        worlds = [from_document(world) for world in drill["worlds"]]
        assert worlds == [from_document(history[world["number"]]) for world in drill["worlds"]]
        assert drill["pauseSeconds"] == sum(world["pauseSeconds"] for world in drill["worlds"])
        assert 0 < drill["pauseSeconds"] < drill["wholeSeconds"]
    cost = 2 * SPOT_USD / 3600 * notice["pauseSeconds"]
    assert notice["usdLost"] == pytest.approx(cost)
    assert kill["usdLost"] > 0

    # No change of the world takes no time at all.
    assert typed("drill", "digits", "--kind", "node", "--worker", "0", "--max-pause", "0") == 1
    told = capsys.readouterr()
    assert "where 0 s is the limit" in told.err
    assert "FAILED. Next: spotrain describe digits --local" in told.err
    story = (shelf.find("digits").folder / "story.log").read_text()
    for happened in ("evicted, 90 s of notice", "(SIGKILL)", "spot interruption, 90 s of notice"):
        assert happened in story
    assert not os.listdir(shelf.find("digits").folder / interruptions.FOLDER)


# --- What needs no training: a job whose status says that it trains -------------------------------
def status(workers: int = 2) -> Object:
    moment = "2026-01-01T00:00:00Z"
    world = {"kind": "world", "number": 1, "size": 2, "publishedAt": moment, "firstStepAt": moment}
    stay = {"kind": "stay", "gpus": 1, "createdAt": moment, "startedAt": moment}
    own = [{"pod": f"digits-worker-{n}", "uid": f"uid-{n}", "node": f"node-{n}"} for n in (0, 1)]
    gone = {"pod": "digits-worker-2", "uid": "uid-2", "node": "node-2", "endedAt": moment}
    return {
        "state": "Running",
        "replicaStatuses": {contract.WORKER: {"active": workers, "ready": workers}},
        "history": [world],
        "ledger": {"since": moment, "stays": [{**stay, **each} for each in (gone, *reversed(own))]},
    }


@pytest.fixture
def told(shelf: Shelf) -> StoredJob:
    """Nobody runs it."""
    document = waiting_job()
    document["spec"]["replicaSpecs"][contract.WORKER]["replicas"] = 2
    stored = shelf.add(document, make_settings(shelf))
    stored.status_file.write_text(json.dumps(status()))
    return stored


def test_a_dry_run_interrupts_nobody(
    told: StoredJob, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    with told.running():
        assert typed("drill", "digits", "--kind", "notice,kill,node", "--dry-run") == 0
    assert " ".join(capsys.readouterr().out.split()) == (
        "notice: sends SIGTERM to digits-worker-1 on node-1, with its grace period as notice "
        "kill: sends SIGKILL to digits-worker-1 on node-1 "
        "node: takes back node-1 as a spot node, with notice, and digits-worker-1 with it"
    )
    assert not (told.folder / interruptions.FOLDER).exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param("digit", 4, "Did you mean digits?", id="unknown-job"),
        pytest.param("digits --worker 2", 4, "there are 0, 1", id="worker-that-is-gone"),
        pytest.param("digits --real", 2, "leave one out", id="real"),
        pytest.param("digits --kind murder", 2, "notice, kill, node", id="unknown-kind"),
    ],
)
def test_what_cannot_be_drilled_is_told_in_one_line(
    told: StoredJob,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
    words: str,
    code: int,
    says: str,
) -> None:
    with told.running():
        assert typed("drill", *words.split()) == code
    refused = capsys.readouterr()
    assert says in refused.err
    assert (refused.out, refused.err.count("\n")) == ("", 1)
    assert not (told.folder / interruptions.FOLDER).exists()


def test_a_job_that_nobody_runs_is_not_drilled(
    told: StoredJob, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told.name == "digits"
    assert typed("drill", "digits") == 5
    assert "Next: spotrain explain digits --local" in capsys.readouterr().err


def test_a_request_is_taken_once_and_one_for_a_worker_that_is_gone_hits_nobody(
    tmp_path: Path,
) -> None:
    for manner in (Manner.KILL, Manner.NOTICE, Manner.KILL):
        interruptions.ask(tmp_path, manner, "uid-1")
    assert sorted(interruptions.take(tmp_path)) == [
        (Manner.KILL, "uid-1"),
        (Manner.NOTICE, "uid-1"),
    ]
    assert list(interruptions.take(tmp_path)) == []
