"""The verbs with --local: jobs of this machine, run by processes of their own."""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.archive.errors import NotFound
from spotrain.archive.folder import Folder
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.job_output import output_of
from spotrain.cli.job_view import JobView, view
from spotrain.cli.local_jobs import ENV_FOLDER, LocalJobs, own_shelf, seen
from spotrain.cli.local_run import make_settings, run_here
from spotrain.cli.main import main
from spotrain.cli.refusals import NotThere, Taken
from spotrain.controller.status import RUNNING, SUCCEEDED, SUSPENDED
from spotrain.controller.stored import merge_patch
from spotrain.kinds import Object
from spotrain.local.shelf import NoSuchJob, Shelf, StoredJob, merged
from tests.archive.test_checkpoints import publish
from tests.cli.documents import job
from tests.cli.terminal import CTRL_C, terminal

WAIT = "import time; print('here', flush=True); time.sleep(3600)"
"""A worker that trains for ever, without PyTorch: the verbs do not mind."""
Typed = Callable[..., int]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    monkeypatch.chdir(tmp_path)
    made = own_shelf()
    yield made
    jobs = LocalJobs(made)
    for document in jobs.list():
        jobs.delete(document["metadata"]["name"])
    while jobs.list():
        time.sleep(0.05)


@pytest.fixture
def jobs(shelf: Shelf) -> LocalJobs:
    return LocalJobs(shelf, make_settings(shelf))


@pytest.fixture
def typed(shelf: Shelf) -> Typed:
    """The exit code of `spotrain` with these words and --local."""

    def run(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--local"])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


def waiting_job(name: str = "digits", script: str = WAIT, **spec: Any) -> Object:
    document = job(name, **{"minReplicas": 1, "maxReplicas": 2, **spec})
    worker = document["spec"]["replicaSpecs"][contract.WORKER]
    worker["template"]["spec"]["containers"][0]["command"] = [sys.executable, "-c", script]
    worker["template"]["spec"]["terminationGracePeriodSeconds"] = 2
    worker["replicas"] = 1
    return document


def until(jobs: LocalJobs, name: str, holds: Callable[[JobView], bool]) -> JobView:
    return next(seen for seen in map(view, jobs.watch(name)) if holds(seen))


def until_gone(jobs: LocalJobs, name: str) -> None:
    with contextlib.suppress(NotThere):
        deque(jobs.watch(name), maxlen=0)


def until_spoken(shelf: Shelf, name: str) -> None:
    """Files tell nobody when they grow, so they have to be looked at."""
    archive = Folder(shelf.archive)
    while True:
        with contextlib.suppress(NotFound):
            if any(archive.logs(name)):
                return
        time.sleep(0.05)


def is_ready(workers: int) -> Callable[[JobView], bool]:
    return lambda seen: seen.state == RUNNING and seen.status.workers.ready == workers


def engine_of(shelf: Shelf, name: str) -> int:
    """The process that runs the job: who holds the lock."""
    lock = os.stat(shelf.find(name).folder / "engine.lock").st_ino
    (line,) = [line for line in Path("/proc/locks").read_text().splitlines() if f":{lock} " in line]
    return int(line.split()[4])


def test_a_job_goes_through_its_life_by_the_verbs(
    jobs: LocalJobs, typed: Typed, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    assert typed("list") == 0
    assert "Running" in capsys.readouterr().out
    assert typed("scale", "digits", "--gpus", "2") == 0
    until(jobs, "digits", is_ready(2))
    assert typed("scale", "digits", "--gpus", "2") == 0
    assert "digits is to have 2 workers already: nothing to do." in capsys.readouterr().out
    assert typed("stop", "digits") == 0
    until(jobs, "digits", lambda seen: seen.state == SUSPENDED)
    assert typed("stop", "digits") == 0
    assert "digits is stopped already: nothing to do." in capsys.readouterr().out
    assert typed("resume", "digits") == 0
    assert "spotrain status digits --watch --local" in capsys.readouterr().out
    until(jobs, "digits", is_ready(2))
    assert typed("resume", "digits") == 0
    assert "digits is not stopped: nothing to do." in capsys.readouterr().out
    assert typed("resume", "digits", "--budget", "5") == 0
    assert "digits goes on, and may cost $5.00." in capsys.readouterr().out
    assert typed("describe", "digits") == 0
    assert "EnoughWorkers" in capsys.readouterr().out
    assert typed("delete", "digits") == 0
    until_gone(jobs, "digits")
    assert not shelf.jobs()


@pytest.mark.parametrize("what", ["root", "job"])
def test_workers_end_when_the_folder_of_their_job_is_removed(
    jobs: LocalJobs, shelf: Shelf, what: str
) -> None:
    """Nobody can see or end the job by a verb any more, and nobody would see its GPUs taken."""
    script = f"{WAIT}  # {shelf.root}"  # to be told from all others of this machine
    jobs.create(waiting_job(script=script))
    until(jobs, "digits", is_ready(1))
    until_spoken(shelf, "digits")
    assert processes_of(script)
    stored = shelf.find("digits")
    engine = engine_of(shelf, "digits")
    with stored.folder.joinpath("story.log").open() as story:
        shutil.rmtree(shelf.root if what == "root" else stored.folder)
        os.waitpid(engine, 0)  # a child of whoever made the job
        *_, last = story.read().splitlines()
    assert f"{stored.folder} was removed while digits ran" in last
    assert not processes_of(script)
    assert not shelf.archive.exists() or what == "job"


def processes_of(script: str) -> list[str]:
    """Commands of all that run it."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            commands.append(path.read_bytes().decode(errors="replace"))
    return [command for command in commands if script in command]


def test_a_submitted_script_runs_and_succeeds(
    jobs: LocalJobs, typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hello.py").write_text(
        "import os, pathlib\n"
        "folder = pathlib.Path(os.environ['SPOTRAIN_OUTPUT'])\n"
        "folder.mkdir(parents=True, exist_ok=True)\n"
        "(folder / 'said').write_text(os.environ['GREETING'])\n"
        "print('said it')\n"
    )
    words = ("submit", "hello", "--gpus", "1", "--env", "GREETING=hi", "--follow", "hello.py")
    assert typed(*words) == 0
    told = capsys.readouterr()
    assert told.out.startswith("submitted hello: 1 worker. Next: ")
    assert "[0] said it" in told.out.splitlines()
    assert told.err.startswith("hello: ")
    assert view(jobs.get("hello")).state == SUCCEEDED
    assert (tmp_path / "shelf" / "efs" / "output" / "hello" / "said").read_text() == "hi"


def test_a_job_whose_process_was_killed_is_seen_as_interrupted_and_goes_on_when_resumed(
    jobs: LocalJobs, typed: Typed, shelf: Shelf
) -> None:
    jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    os.kill(engine_of(shelf, "digits"), signal.SIGKILL)
    lost = until(jobs, "digits", lambda seen: seen.state == "Interrupted")
    assert lost.status.workers.ready == 0
    assert lost.status.offer is None
    assert lost.status.ledger
    assert all(stay.ended_at for stay in lost.status.ledger.stays)
    assert lost.why
    assert lost.why.last_transition_time
    assert lost.why.last_transition_time > lost.created_at
    assert "spotrain resume digits --local" in lost.why.message
    assert typed("resume", "digits") == 0
    back = until(jobs, "digits", is_ready(1))
    assert back.status.ledger
    assert back.status.ledger.stays[0] == lost.status.ledger.stays[0]
    (pause,) = back.status.ledger.pauses
    assert (pause.since, pause.until is None) == (lost.status.ledger.pauses[0].since, False)


def test_a_name_is_taken_once_and_free_again_after_its_job_is_deleted(jobs: LocalJobs) -> None:
    jobs.create(waiting_job())
    with pytest.raises(Taken, match=r"already a job 'digits' on this .* delete digits --local\."):
        jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    jobs.delete("digits")
    until_gone(jobs, "digits")
    jobs.create(waiting_job())


def test_an_unknown_name_is_told_with_near_ones(jobs: LocalJobs) -> None:
    jobs.create(waiting_job())
    for name in ("digit", "../digits"):
        with pytest.raises(NotThere, match="digits"):
            jobs.get(name)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param("submit a --gpus 1 --secret s x.py", 2, "only a cluster has", id="secret"),
        pytest.param("submit A --gpus 1 x.py", 2, "metadata.name", id="name"),
        pytest.param("submit a --gpus 2000 x.py", 2, "1000", id="too-many"),
        pytest.param("stop a", 4, "none at all", id="unknown"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_nothing_is_left(
    typed: Typed, shelf: Shelf, capsys: pytest.CaptureFixture[str], words: str, code: int, says: str
) -> None:
    assert typed(*words.split()) == code
    said = capsys.readouterr()
    assert says in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert not shelf.jobs()


def test_a_job_that_needs_what_this_machine_lacks_is_not_started(
    jobs: LocalJobs, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    document = waiting_job(placement={"gpu": "t4", "pools": ["of-the-cloud"]})
    jobs.create(document)
    waits = until(jobs, "digits", lambda seen: bool(seen.why and seen.why.message))
    assert waits.why
    assert "of-the-cloud" in waits.why.message


# --- What a job leaves behind ---------------------------------------------------------------------
def test_logs_are_followed_until_nobody_runs_the_job(
    jobs: LocalJobs, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.create(waiting_job(script="import time\nfor n in range(3): print('line', n, flush=True)"))
    assert typed("logs", "digits", "--follow") == 0
    assert capsys.readouterr().out.splitlines() == [f"[0] line {n}" for n in range(3)]
    assert typed("logs", "digits", "--worker", "0") == 0
    assert capsys.readouterr().out.splitlines() == [f"line {n}" for n in range(3)]
    assert typed("logs", "digits", "--worker", "1") == 4
    assert "digits had no worker 1; there were 0." in capsys.readouterr().err
    assert typed("logs", "digits", "--world", "1") == 4
    assert "it had none" in capsys.readouterr().err


def test_what_a_deleted_job_has_printed_and_done_is_still_told(
    jobs: LocalJobs, typed: Typed, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.create(waiting_job())
    until_spoken(shelf, "digits")
    jobs.delete("digits")
    until_gone(jobs, "digits")
    assert typed("logs", "digits") == 0
    assert capsys.readouterr().out == "[0] here\n"
    assert typed("cost", "digits", "-o", "name") == 0
    archive = Folder(shelf.archive)
    assert archive.job("digits").outcome == "deleted"
    assert [node.gone_at for node in archive.nodes() if node.gone_at is None] == []
    assert typed("report", "digits", "-o", "-") == 0


def test_nodes_of_a_job_whose_process_was_killed_ended_with_it(
    jobs: LocalJobs, typed: Typed, shelf: Shelf
) -> None:
    jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    os.kill(engine_of(shelf, "digits"), signal.SIGKILL)
    until(jobs, "digits", lambda seen: seen.state == "Interrupted")
    assert typed("cost", "digits") == 0
    (node,) = Folder(shelf.archive).nodes()
    assert node.gone_at is not None
    assert node.gone_at - node.created_at < timedelta(minutes=5)


# --- Why it is as it is, and what there is --------------------------------------------------------
def explained(typed: Typed, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert typed("explain", "digits", "-o", "json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_job_with_fewer_machines_than_workers_is_explained(
    shelf: Shelf, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = LocalJobs(shelf, make_settings(shelf, machines=1))
    document = waiting_job(placement={"gpu": "t4"})
    worker = document["spec"]["replicaSpecs"][contract.WORKER]
    worker["replicas"] = 2
    container = worker["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {contract.GPU_RESOURCE: "1"}}
    jobs.create(document)
    until(jobs, "digits", is_ready(1))
    told = explained(typed, capsys)
    assert "PoolFull" in [cause["reason"] for cause in told["causes"]]
    assert "1 of 2 workers are ready" in told["explanation"]
    assert {cause["next"].rpartition(" ")[2] for cause in told["causes"]} == {"--local"}

    assert typed("gpus", "-o", "json") == 0
    (pool,) = json.loads(capsys.readouterr().out)
    assert (pool["gpu"], pool["gpus"], pool["free"], pool["most"]) == ("t4", 1, 0, 1)
    assert typed("gpus") == 0
    assert "t4-local" in capsys.readouterr().out


def test_a_job_that_stands_still_is_explained_with_the_way_on(
    jobs: LocalJobs, typed: Typed, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    os.kill(engine_of(shelf, "digits"), signal.SIGKILL)
    until(jobs, "digits", lambda seen: seen.state == "Interrupted")
    told = explained(typed, capsys)
    assert [cause["reason"] for cause in told["causes"]] == ["NoProcess"]
    assert told["next"] == "spotrain resume digits --local"
    assert typed("stop", "digits") == 0
    said = explained(typed, capsys)["explanation"]
    assert "Its nodes went with the process that ran it." in said
    assert typed("explain", "digit") == 4
    assert "Did you mean digits?" in capsys.readouterr().err


def test_without_jobs_there_are_no_gpus_here_and_the_way_to_some_is_told(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("gpus") == 0
    said = capsys.readouterr()
    assert (said.out, "--gpu-type" in said.err) == ("", True)


def test_checkpoints_are_listed_verified_and_pruned(
    jobs: LocalJobs, typed: Typed, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.create(waiting_job())
    assert typed("checkpoints", "digits", "--verify") == 0
    assert (
        "digits has no checkpoint in /mnt/efs/output/digits/checkpoints" in capsys.readouterr().err
    )
    assert typed("checkpoints", "digits", "--folder", "digit") == 4
    folder = shelf.volume / contract.OUTPUT_DIR / "digits" / "checkpoints"
    files = [publish(folder, step) for step in (10, 20, 30)]
    assert typed("checkpoints", "digits", "--verify") == 0
    files[1].write_bytes(b"changed")
    assert typed("checkpoints", "digits", "--verify") == 1
    capsys.readouterr()
    assert typed("checkpoints", "digits", "--prune", "--keep", "1", "-o", "name") == 0
    assert capsys.readouterr().out.split() == ["w000001-s00000030"]


@pytest.mark.parametrize(
    ("place", "output"),
    [
        pytest.param(None, "/mnt/efs/output/digits", id="its-own"),
        pytest.param("/mnt/efs/output/shared", "/mnt/efs/output/shared", id="told"),
    ],
)
def test_the_output_of_a_job_is_what_it_was_told(place: str | None, output: str) -> None:
    document = waiting_job()
    worker = document["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"]
    if place:
        worker["containers"][0]["env"] = [{"name": contract.ENV_OUTPUT, "value": place}]
    assert output_of(document, "digits") == output


# --- Displays in a terminal -----------------------------------------------------------------------
def test_a_terminal_shows_the_job_in_place_until_ctrl_c_and_the_job_goes_on(
    jobs: LocalJobs, tmp_path: Path
) -> None:
    jobs.create(waiting_job())
    until(jobs, "digits", is_ready(1))
    with terminal(
        "status", "digits", "--watch", "--local", folder=tmp_path, environment=dict(os.environ)
    ) as shown:
        shown.read_until("1 of 1 ready")
        jobs.patch("digits", {"spec": {"replicaSpecs": {contract.WORKER: {"replicas": 2}}}})
        shown.read_until("2 of 2 ready")
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "\x1b[1A" in shown.raw  # it went up, and wrote over what it had shown
    assert "Traceback" not in shown.text
    assert max(map(len, shown.text.splitlines())) <= 80
    assert view(jobs.get("digits")).state == RUNNING


def test_a_submission_is_followed_in_place_until_it_speaks_and_ctrl_c_leaves_it_running(
    jobs: LocalJobs, tmp_path: Path
) -> None:
    (tmp_path / "waits.py").write_text(WAIT)
    words = ("submit", "waits", "--gpus", "1", "--follow", "--local", "waits.py")
    with terminal(*words, folder=tmp_path, environment=dict(os.environ)) as shown:
        shown.read_until("of 1 ready")
        shown.read_until("[0] here")
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "Traceback" not in shown.text
    said = " ".join(shown.text.split())
    assert "interrupted: waits was sent and goes on" in said
    assert "spotrain logs waits --follow --local shows it" in said
    assert view(jobs.get("waits")).state == RUNNING


def test_a_sweep_of_this_machine_runs_one_job_after_the_other_and_is_shown(
    jobs: LocalJobs, typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    import yaml

    script = "import sys; print('tried', sys.argv[1:])"
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(waiting_job(script=script)))
    assert typed("sweep", "job.yaml", "n=1,2", "--follow") == 0
    told = capsys.readouterr()
    assert "sent 2 jobs of 2, at most 1 at once" in told.out
    assert "digits: 2 of 2 jobs succeeded." in told.err
    assert typed("sweep", "digits", "-o", "json") == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["values"], second["values"]) == ({"n": "1"}, {"n": "2"})
    assert first["endedAt"][:19] <= second["createdAt"][:19]
    assert typed("logs", second["name"]) == 0
    assert capsys.readouterr().out == "[0] tried ['--n=2']\n"
    assert typed("sweep", "job.yaml", "n=1,2") == 0
    assert "sent 0 jobs of 2, 2 were there already" in capsys.readouterr().out
    assert typed("sweep", "digits", "--delete") == 0
    assert not jobs.list()


def test_a_followed_sweep_is_a_table_in_place_and_ctrl_c_leaves_its_jobs_running(
    jobs: LocalJobs, tmp_path: Path
) -> None:
    import yaml

    (tmp_path / "job.yaml").write_text(yaml.safe_dump(waiting_job()))
    words = ("sweep", "job.yaml", "n=1", "--local", "--follow")
    with terminal(*words, folder=tmp_path, environment=dict(os.environ)) as shown:
        shown.read_until("Running")
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    said = " ".join(shown.text.split())
    assert (
        "interrupted: the jobs of sweep digits go on. Next: spotrain sweep digits --local" in said
    )
    assert "Traceback" not in said
    (document,) = jobs.list()
    assert view(document).state == RUNNING


@pytest.mark.parametrize(("act", "left"), [("--stop", 1), ("--delete", 0)])
def test_a_sweep_that_is_stopped_or_removed_while_it_is_sent_is_sent_no_further(
    act: str, left: int, jobs: LocalJobs, typed: Typed, tmp_path: Path
) -> None:
    import yaml

    (tmp_path / "job.yaml").write_text(yaml.safe_dump(waiting_job()))
    with terminal(
        "sweep", "job.yaml", "n=1,2,3", "--local", folder=tmp_path, environment=dict(os.environ)
    ) as shown:
        shown.read_until("submitted")
        (first,) = jobs.list()
        assert typed("sweep", "digits", act) == 0
        assert shown.read_to_end() == CONFLICT
    said = " ".join(shown.text.split())
    assert "another command has stopped or removed sweep digits after 1 of 3 jobs" in said
    assert said.count("submitted") == 1
    assert "Traceback" not in said
    until_settled = until_gone if act == "--delete" else until_stopped
    until_settled(jobs, first["metadata"]["name"])
    assert len(jobs.list()) == left


def until_stopped(jobs: LocalJobs, name: str) -> None:
    until(jobs, name, lambda seen: seen.state == SUSPENDED)


def test_run_in_a_terminal_shows_its_story_and_ctrl_c_ends_its_workers(
    jobs: LocalJobs, tmp_path: Path
) -> None:
    import yaml

    (tmp_path / "job.yaml").write_text(yaml.safe_dump(waiting_job()))
    with terminal(
        "run", "job.yaml", "--local", folder=tmp_path, environment=dict(os.environ)
    ) as shown:
        shown.read_until("digits-worker-0: started on node-1")
        shown.read_until("1 of 1 ready")
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "spotrain resume digits --local" in shown.text
    assert "Traceback" not in shown.text
    assert view(jobs.get("digits")).state == "Interrupted"


# --- The shelf ------------------------------------------------------------------------------------
DOCUMENTS = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(st.sampled_from("abc"), DOCUMENTS, max_size=3)


@given(before=MAPPINGS, after=MAPPINGS)
def test_a_merge_patch_makes_one_document_of_the_other(before: Object, after: Object) -> None:
    assert merged(before, merge_patch(before, after)) == after


def test_a_run_that_finds_an_ended_job_leaves_the_one_that_another_makes_of_its_name_meanwhile(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.add(job(), make_settings(shelf))
    remove = StoredJob.remove

    def second(stored: StoredJob, uid: str) -> None:
        """The other goes first, all the way to its own job."""
        remove(stored, uid)
        shelf.add(job(), make_settings(shelf), run_until=running)
        remove(stored, uid)

    with contextlib.ExitStack() as running:
        monkeypatch.setattr(StoredJob, "remove", second)
        with pytest.raises(UserError, match="digits already runs on this machine") as refused:
            run_here(job(), make_settings(shelf))
        assert shelf.find("digits").is_run
    monkeypatch.undo()
    assert refused.value.exit_code == CONFLICT


def test_a_run_is_seen_by_another_from_the_moment_its_job_is_there(shelf: Shelf) -> None:
    with contextlib.ExitStack() as running:
        first = shelf.add(job(), make_settings(shelf), run_until=running)
        before = first.document()
        with pytest.raises(UserError, match="digits already runs on this machine"):
            run_here(job(), make_settings(shelf))
        assert first.document() == before
    assert not first.is_run


def test_a_deleted_job_that_is_run_again_is_shown_and_stays(jobs: LocalJobs, shelf: Shelf) -> None:
    """Its engine takes it between the look whether it is run and the removal."""
    stored = shelf.add(job(), make_settings(shelf))
    stored.change({"metadata": {"deletionTimestamp": datetime.now(UTC).isoformat()}})

    class Idle(StoredJob):
        is_run = False

    with stored.running():
        assert view(seen(Idle(stored.folder))).state == "Deleting"
    with pytest.raises(NoSuchJob):
        seen(stored)
    assert not shelf.jobs()
