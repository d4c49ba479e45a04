"""Logs that are followed past connections that break off, or that fall silent without a word."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from spotrain import contract
from spotrain.archive import client, following, layout
from spotrain.archive.ledger_files import LedgerFiles
from spotrain.archive.log_files import JobLogs, LogBounds
from spotrain.archive.news import read_job
from spotrain.archive.records import LogLine
from spotrain.cli import logs, outages
from spotrain.cli.archive import ArchiveAway
from spotrain.cli.cluster import connected
from spotrain.cli.local_jobs import LocalJobs
from spotrain.cli.pod_logs import PodLogs
from spotrain.controller import states
from spotrain.kinds import Object
from spotrain.local.shelf import Shelf
from tests.archive.served import asking, serving
from tests.cli.documents import job
from tests.cli.stalling_server import CREATED
from tests.cli.test_reach import write_kubeconfig
from tests.cli.way import Way, way_to

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Archive:
    """That of one job, served over a way that may be lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        document = job()
        snapshot = read_job({**document, "metadata": {**document["metadata"], "uid": "u"}})
        self._ledger, self._snapshot = LedgerFiles(folder), snapshot
        self._ledger.keep(snapshot, NOW)
        self._logs = JobLogs(folder / layout.logs_folder("digits", "u"), LogBounds())

    def write(self, worker: int, said: str) -> None:
        at = f"{NOW:%Y-%m-%dT%H:%M:%S}.000000000Z"  # all of one moment: the hardest to tell apart
        kept = LogLine(at=at, worker=worker, pod=f"w{worker}", pod_uid=f"p{worker}", line=said)
        self._logs.append(worker, [kept])

    def end(self) -> None:
        status = {"conditions": [{"type": states.SUCCEEDED, "status": "True"}]}
        document = job(status={**status, "completionTime": NOW.isoformat()})
        ended = read_job({**document, "metadata": {**document["metadata"], "uid": "u"}})
        self._ledger.keep(ended, NOW)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    monkeypatch.setattr(following, "LOOK_AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(outages, "PAUSE_SECONDS", 0.01)
    return Archive(tmp_path / "archive")


@pytest.fixture
def way(archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way]:
    """Between the archive and whoever follows the job's log."""
    with (
        serving(archive.folder, tmp_path) as address,
        way_to(int(address.rpartition(":")[2])) as found,
    ):

        @contextmanager
        def opened(**_: object) -> Iterator[tuple[LocalJobs, client.Client]]:
            with asking(f"http://127.0.0.1:{found.port}") as asked:
                try:
                    yield LocalJobs(Shelf(tmp_path)), asked
                except httpx2.RequestError as error:
                    raise ArchiveAway(f"it has not answered: {error}") from None

        monkeypatch.setattr(logs, "opened", opened)
        yield found


def follow() -> Iterator[str]:
    lines = logs.lines_of("digits", context=None, namespace=None, local=False, uid="u", follow=True)
    return (f"{line.worker} {line.text}" for line in lines)


def test_a_connection_that_falls_silent_is_left_and_no_line_is_lost_or_shown_twice(
    archive: Archive,
    way: Way,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.5)
    archive.write(0, "first")
    archive.write(1, "first")
    lines = follow()
    assert sorted((next(lines), next(lines))) == ["0 first", "1 first"]
    way.fall_silent()
    archive.write(1, "second")
    archive.write(0, "second")
    assert sorted((next(lines), next(lines))) == ["0 second", "1 second"]
    archive.end()
    assert list(lines) == []
    assert capsys.readouterr().err == ""


def test_an_archive_that_is_back_in_a_moment_is_waited_for(
    archive: Archive, way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    archive.write(0, "first")
    lines = follow()
    assert next(lines) == "0 first"
    way.cut(refusals=3)
    archive.write(0, "second")
    assert next(lines) == "0 second"
    archive.end()
    assert list(lines) == []
    told = capsys.readouterr().err
    assert told == "the archive does not answer; waiting for it, 90 s at most.\n"


def test_a_job_that_says_nothing_is_told_from_a_connection_that_is_gone(
    archive: Archive, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "BEAT_SECONDS", 0.02)
    archive.write(0, "first")
    url = f"http://127.0.0.1:{way.port}/v1/jobs/digits/logs?follow=1&beats=1"
    with httpx2.stream("GET", url, trust_env=False) as response:
        raw = response.iter_lines()
        assert json.loads(next(raw))["line"] == "first"
        assert [next(raw) for _ in range(3)] == [""] * 3
    lines = follow()
    assert next(lines) == "0 first"
    archive.end()
    assert list(lines) == []


# --- Without an archive: the pods themselves ------------------------------------------------------


@contextmanager
def pods_of_a_job(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, *, lives_on: bool = False
) -> Iterator[list[str]]:
    """An API server with a pod whose log falls silent after two lines, and then has a third one.

    Yields from when on its log was asked for, each time. `lives_on`: the pod does, when the
    container that trains has ended.
    """
    asked: list[str] = []
    is_left = Event()
    labels = {contract.LABEL_JOB: "digits", contract.LABEL_REPLICA_INDEX: "0"}
    owner = {"kind": contract.KIND, "name": "digits", "uid": "u"}
    metadata = {"name": "w", "uid": "p", "labels": labels, "ownerReferences": [owner]}

    def pod() -> Object:
        state: Object = {"running": {}} if len(asked) < 2 else {"terminated": {}}
        told = {"name": "train", "state": state, "restartCount": 0}
        phase = "Running" if len(asked) < 2 or lives_on else "Succeeded"
        status = {"phase": phase, "containerStatuses": [told]}
        return {"metadata": metadata, "spec": {"containers": [{"name": "train"}]}, "status": status}

    def document() -> Object:
        over = {"state": states.SUCCEEDED, "conditions": [{"type": "Succeeded", "status": "True"}]}
        found = job(status=over if len(asked) > 1 else {"state": states.RUNNING})
        return {
            **found,
            "metadata": {**found["metadata"], "uid": "u", "creationTimestamp": CREATED},
        }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path.endswith("/log"):
                asked.append(parse_qs(parts.query).get("sinceTime", [""])[0])
                texts = ["one", "two"] if len(asked) == 1 else ["one", "two", "three"]
                said = "".join(f"2026-01-01T00:00:05.5Z {text}\n" for text in texts).encode()
                self.begin({"Transfer-Encoding": "chunked"})
                self.wfile.write(f"{len(said):x}\r\n".encode() + said + b"\r\n")
                self.wfile.flush()
                if len(asked) == 1:
                    is_left.wait(30)
                self.wfile.write(b"0\r\n\r\n")
                return
            is_list = parts.path.endswith("/pods")
            listed = {"items": [pod()], "metadata": {"resourceVersion": "1"}}
            answer = json.dumps(listed if is_list else document()).encode()
            self.begin({"Content-Length": str(len(answer))})
            self.wfile.write(answer)

        def begin(self, headers: dict[str, str]) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # whoever asked has gone
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    write_kubeconfig(kubeconfig, monkeypatch, server=address, user={"token": "some"})
    try:
        yield asked
    finally:
        is_left.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("lives_on", [False, True], ids=["ends", "lives-on"])
def test_a_pods_log_that_falls_silent_is_read_on_from_its_last_line(
    lives_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a pod that lives on beside the container that trains: it does not tell the end."""
    monkeypatch.setattr("spotrain.cli.cluster.SILENT_SECONDS", 0.3)
    place = pods_of_a_job(tmp_path, monkeypatch, lives_on=lives_on)
    with place as asked, connected(None, "team") as cluster:
        lines = [line.line for line in PodLogs(cluster).logs("digits", "u", follow=True)]
    assert lines == ["one", "two", "three"]
    assert asked[:2] == ["", "2026-01-01T00:00:05Z"]
